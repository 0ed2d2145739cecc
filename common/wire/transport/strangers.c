#include "common/wire/transport/strangers.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/cond.h"
#include "common/base/log.h"
#include "common/wire/transport/stranger_judge.h"

enum { MAX_ROWS = BATON_MAX_STRANGER_ROWS, MAX_LOOKS = BATON_MAX_STRANGER_LOOKS };

/* Between two passes while there are strangers, at least; and a pass takes a tenth of the time at
 * most, however many descriptors there are. */
#define PAUSE_NS (10 * BATON_MS)
enum { PAUSE_PASSES = 9 };

struct baton_strangers {
    pthread_t thread;
    atomic_bool is_waiting;
    atomic_size_t n_rows; /* changed with the lock; read without it, to see that there are none */

    pthread_mutex_t judge_lock; /* guards the judge */
    struct baton_stranger_judge judge;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct baton_stranger rows[MAX_ROWS];
    bool stopping;
    struct baton_strangers_stats stats;
};

/* ---- rows; the lock is held ---- */

static struct baton_stranger *find(struct baton_strangers *strangers, uint32_t pipe)
{
    for (size_t i = 0; i < MAX_ROWS; i++)
        if (strangers->rows[i].pipe == pipe)
            return &strangers->rows[i];
    return NULL;
}

static bool is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
    return !memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                   &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
                   sizeof(struct in6_addr));
}

static void take(struct baton_strangers *strangers, struct baton_stranger *row)
{
    *row = (struct baton_stranger){0};
    atomic_fetch_sub(&strangers->n_rows, 1);
}

static void put(struct baton_strangers *strangers, struct baton_stranger *row, uint32_t pipe,
                const struct sockaddr_storage *peer, bool is_kept)
{
    *row = (struct baton_stranger){.pipe = pipe,
                                   .is_kept = is_kept,
                                   .since_ns = baton_now_ns(),
                                   .target = {.peer = *peer, .fd = -1}};
    atomic_fetch_add(&strangers->n_rows, 1);
}

static void end(struct baton_strangers *strangers, struct baton_stranger *row, uint64_t *count)
{
    row->ends = true;
    row->n_looks = 0;
    ++*count;
    pthread_cond_signal(&strangers->changed);
}

/* The strangers of one host, or of all, without those that are being ended. */
struct crowd {
    size_t n, n_kept;
    struct baton_stranger *oldest; /* that is silent and may be crowded out; NULL: none */
};

static struct crowd look_at_crowd(struct baton_strangers *strangers,
                                  const struct sockaddr_storage *host)
{
    struct crowd crowd = {0};
    int64_t grace_over_ns = baton_now_ns() - strangers->judge.patience_ns / BATON_GRACES_A_PATIENCE;
    for (struct baton_stranger *row = strangers->rows; row < strangers->rows + MAX_ROWS; row++) {
        if (!row->pipe || row->ends || (host && !is_same_host(&row->target.peer, host)))
            continue;
        bool is_kept = row->is_kept && row->since_ns > grace_over_ns;
        crowd.n++;
        crowd.n_kept += is_kept;
        if (!is_kept && !row->heard && (!crowd.oldest || row->since_ns < crowd.oldest->since_ns))
            crowd.oldest = row;
    }
    return crowd;
}

/* Makes room for one more of those who were counted. */
static void crowd_out(struct baton_strangers *strangers, const struct crowd *crowd, size_t max)
{
    if (crowd->n < max || !crowd->oldest)
        return;
    crowd->oldest->is_crowded = true;
    end(strangers, crowd->oldest, &strangers->stats.n_crowded);
}

bool baton_strangers_add(struct baton_strangers *strangers, uint32_t pipe,
                         const struct sockaddr_storage *peer)
{
    pthread_mutex_lock(&strangers->lock);
    const struct crowd neighbours = look_at_crowd(strangers, peer);
    crowd_out(strangers, &neighbours, BATON_MAX_STRANGERS_OF_ADDRESS);
    const struct crowd all = look_at_crowd(strangers, NULL);
    crowd_out(strangers, &all, BATON_MAX_STRANGERS);
    struct baton_stranger *row = find(strangers, 0);
    bool is_kept = neighbours.n_kept < BATON_MAX_STRANGERS_OF_ADDRESS / 2 &&
                   all.n_kept < BATON_MAX_STRANGERS / 2;
    if (row)
        put(strangers, row, pipe, peer, is_kept);
    else
        strangers->stats.n_crowded++;
    pthread_cond_signal(&strangers->changed);
    pthread_mutex_unlock(&strangers->lock);
    return row != NULL;
}

/* One that spoke before its end was begun stays: in a crowd of those who belong here, the end of
 * many would come just after they spoke. */
bool baton_strangers_heard(struct baton_strangers *strangers, uint32_t pipe)
{
    if (!atomic_load(&strangers->n_rows))
        return true;
    pthread_mutex_lock(&strangers->lock);
    struct baton_stranger *row = find(strangers, pipe);
    bool stays = !row || !row->ends || (row->is_crowded && !row->is_judged);
    if (row && row->ends && stays) {
        row->ends = row->is_crowded = false;
        strangers->stats.n_crowded--;
    }
    if (row)
        row->heard = true;
    pthread_mutex_unlock(&strangers->lock);
    return stays;
}

bool baton_strangers_has(struct baton_strangers *strangers, uint32_t pipe)
{
    pthread_mutex_lock(&strangers->lock);
    bool has = find(strangers, pipe) != NULL;
    pthread_mutex_unlock(&strangers->lock);
    return has;
}

void baton_strangers_forget(struct baton_strangers *strangers, uint32_t pipe)
{
    pthread_mutex_lock(&strangers->lock);
    struct baton_stranger *row = find(strangers, pipe);
    if (row)
        take(strangers, row);
    pthread_mutex_unlock(&strangers->lock);
}

void baton_strangers_reject(struct baton_strangers *strangers, uint32_t pipe,
                            const struct sockaddr_storage *peer)
{
    uint64_t not_counted = 0;
    pthread_mutex_lock(&strangers->lock);
    struct baton_stranger *row = find(strangers, pipe);
    if (!row)
        row = find(strangers, 0);
    if (row) {
        if (!row->pipe)
            put(strangers, row, pipe, peer, false);
        row->is_crowded = false;
        end(strangers, row, &not_counted);
    }
    pthread_mutex_unlock(&strangers->lock);
    if (row)
        return;
    struct baton_hang_up_target target = {.peer = *peer, .fd = -1}; /* a full table: at once */
    pthread_mutex_lock(&strangers->judge_lock);
    baton_hang_up_find(&strangers->judge.hang_up, &target, 1);
    (void)baton_hang_up_one(&strangers->judge.hang_up, &target);
    pthread_mutex_unlock(&strangers->judge_lock);
}

void baton_strangers_set_waiting(struct baton_strangers *strangers, bool waiting)
{
    /* Relaxed: it publishes nothing, and a value of a moment ago is good enough for a time limit.
     */
    atomic_store_explicit(&strangers->is_waiting, waiting, memory_order_relaxed);
}

void baton_strangers_get_stats(struct baton_strangers *strangers,
                               struct baton_strangers_stats *stats)
{
    pthread_mutex_lock(&strangers->lock);
    *stats = strangers->stats;
    pthread_mutex_unlock(&strangers->lock);
}

/* ---- the thread ---- */

/* The rows that were looked at, unless they changed hands meanwhile. */
static void write_back(struct baton_strangers *strangers, const struct baton_stranger *rows,
                       size_t n, const struct baton_strangers_stats *ended)
{
    for (size_t i = 0; i < n; i++) {
        struct baton_stranger *row = find(strangers, rows[i].pipe);
        if (!row)
            continue;
        row->target.fd = rows[i].target.fd;
        row->since_ns = rows[i].since_ns;
        row->n_looks = row->ends && !rows[i].ends ? 0 : rows[i].n_looks;
        row->ends |= rows[i].ends;
        if (row->ends && row->n_looks >= MAX_LOOKS && row->target.fd < 0)
            take(strangers, row); /* it was gone before it came here: nobody will say so */
    }
    strangers->stats.n_silent += ended->n_silent;
    strangers->stats.n_greedy += ended->n_greedy;
}

static void log_ended(const struct baton_strangers_stats *ended)
{
    static struct baton_log_limit limit;
    if (ended->n_silent + ended->n_greedy)
        baton_log_limited(&limit, BATON_LOG_WARN, "strangers_ended",
                          BATON_I("silent", ended->n_silent), BATON_I("greedy", ended->n_greedy));
}

/* One pass over the strangers, on a copy: NNG's threads do not wait for it. */
static void pass(struct baton_strangers *strangers, struct baton_stranger *rows, size_t n)
{
    struct baton_strangers_stats ended = {0};
    bool is_waiting = atomic_load_explicit(&strangers->is_waiting, memory_order_relaxed);
    pthread_mutex_lock(&strangers->judge_lock);
    baton_stranger_judge_all(&strangers->judge, rows, n, is_waiting, &ended);
    pthread_mutex_unlock(&strangers->judge_lock);
    log_ended(&ended);
    pthread_mutex_lock(&strangers->lock);
    write_back(strangers, rows, n, &ended);
    pthread_mutex_unlock(&strangers->lock);
}

/* The lock is held. Rows that were hung up wait for NNG to say that they are gone. */
static size_t copy_rows(const struct baton_strangers *strangers, struct baton_stranger *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < MAX_ROWS; i++)
        if (strangers->rows[i].pipe &&
            !(strangers->rows[i].ends && strangers->rows[i].n_looks >= MAX_LOOKS))
            rows[n++] = strangers->rows[i];
    return n;
}

/* The lock is held. */
static void begin_judgement(struct baton_strangers *strangers)
{
    for (size_t i = 0; i < MAX_ROWS; i++)
        strangers->rows[i].is_judged |= strangers->rows[i].ends;
}

/* The lock is held. Waits for a change, or with rows for the next pass. */
static void await(struct baton_strangers *strangers, size_t n_rows, int64_t next_ns)
{
    if (n_rows)
        (void)baton_cond_wait_until(&strangers->changed, &strangers->lock, next_ns);
    else
        (void)pthread_cond_wait(&strangers->changed, &strangers->lock);
}

static void *run(void *arg)
{
    struct baton_strangers *strangers = arg;
    struct baton_stranger rows[MAX_ROWS];
    int64_t next_ns = 0;
    (void)pthread_setname_np(pthread_self(), "baton-strangers");
    pthread_mutex_lock(&strangers->lock);
    while (!strangers->stopping) {
        size_t n = copy_rows(strangers, rows);
        int64_t now_ns = baton_now_ns();
        if (!n || now_ns < next_ns) {
            await(strangers, n, next_ns);
            if (!n) /* who belongs here is admitted by then, and costs no pass */
                next_ns = baton_now_ns() + PAUSE_NS;
            continue;
        }
        begin_judgement(strangers);
        pthread_mutex_unlock(&strangers->lock);
        pass(strangers, rows, n);
        int64_t taken_ns = baton_now_ns() - now_ns;
        next_ns = now_ns + taken_ns +
                  (PAUSE_PASSES * taken_ns > PAUSE_NS ? PAUSE_PASSES * taken_ns : PAUSE_NS);
        pthread_mutex_lock(&strangers->lock);
    }
    pthread_mutex_unlock(&strangers->lock);
    return NULL;
}

/* ---- start and stop ---- */

void baton_strangers_end_all(struct baton_strangers *strangers)
{
    pthread_mutex_lock(&strangers->judge_lock);
    (void)baton_hang_up_all(&strangers->judge.hang_up);
    pthread_mutex_unlock(&strangers->judge_lock);
}

static void destroy(struct baton_strangers *strangers)
{
    baton_hang_up_fini(&strangers->judge.hang_up);
    pthread_cond_destroy(&strangers->changed);
    pthread_mutex_destroy(&strangers->lock);
    pthread_mutex_destroy(&strangers->judge_lock);
    free(strangers);
}

void baton_strangers_set_port(struct baton_strangers *strangers, int local_port)
{
    pthread_mutex_lock(&strangers->judge_lock);
    strangers->judge.hang_up.local_port = local_port;
    pthread_mutex_unlock(&strangers->judge_lock);
}

enum baton_err baton_strangers_start(int64_t patience_ns, struct baton_strangers **strangers)
{
    struct baton_strangers *started = calloc(1, sizeof *started);
    if (!started)
        return BATON_NO_MEMORY;
    pthread_mutex_init(&started->lock, NULL);
    pthread_mutex_init(&started->judge_lock, NULL);
    baton_cond_init(&started->changed);
    started->judge.patience_ns = patience_ns;
    enum baton_err err = baton_hang_up_init(&started->judge.hang_up);
    if (!err && pthread_create(&started->thread, NULL, run, started))
        err = BATON_NO_MEMORY;
    if (err) {
        destroy(started);
        return err;
    }
    *strangers = started;
    return BATON_OK;
}

void baton_strangers_stop(struct baton_strangers *strangers)
{
    if (!strangers)
        return;
    pthread_mutex_lock(&strangers->lock);
    strangers->stopping = true;
    pthread_cond_signal(&strangers->changed);
    pthread_mutex_unlock(&strangers->lock);
    pthread_join(strangers->thread, NULL);
    destroy(strangers);
}
