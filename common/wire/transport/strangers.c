#include "common/wire/transport/strangers.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>

#include "common/base/clock.h"
#include "common/base/cond.h"
#include "common/base/log.h"
#include "common/wire/transport/known_pipes.h"
#include "common/wire/transport/peer_tls.h"
#include "common/wire/transport/stranger_judge.h"

enum { MAX_ROWS = BATON_MAX_STRANGER_ROWS, MAX_LOOKS = BATON_MAX_STRANGER_LOOKS };

/* Between two passes while there are strangers, at least; and a pass takes a tenth of the time at
 * most, however many descriptors there are. The scans that look for connections take a hundredth,
 * unless the last one found some that it did not know, or a crowd came not long ago. */
#define PAUSE_NS      (10 * BATON_MS)
#define SCAN_PAUSE_NS (100 * BATON_MS)
#define ALERT_NS      (10 * 1000 * BATON_MS)
enum { PAUSE_PASSES = 9, PAUSE_SCANS = 99 };

struct baton_strangers {
    pthread_t thread;
    atomic_bool is_waiting;
    atomic_size_t n_rows; /* changed with the lock; read without it, to see that there are none */

    pthread_mutex_t judge_lock; /* guards the judge */
    struct baton_stranger_judge judge;
    int64_t next_scan_ns, waited_ns; /* of the thread; when messages last waited for the owner */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct baton_stranger rows[MAX_ROWS];
    struct baton_known_pipes pipes;
    uint64_t n_serials, n_scans;
    int64_t alert_ns;         /* until then more are expected to crowd */
    bool stopping, found_new; /* found_new: by the scan that runs */
    struct baton_strangers_stats stats;
};

/* ---- rows; the lock is held ---- */

/* Serial 0: a free row. */
static struct baton_stranger *find_serial(struct baton_strangers *strangers, uint64_t serial)
{
    for (size_t i = 0; i < MAX_ROWS; i++)
        if (strangers->rows[i].serial == serial)
            return &strangers->rows[i];
    return NULL;
}

static struct baton_stranger *find(struct baton_strangers *strangers, uint32_t pipe)
{
    for (size_t i = 0; i < MAX_ROWS; i++)
        if (strangers->rows[i].serial && strangers->rows[i].pipe == pipe)
            return &strangers->rows[i];
    return NULL;
}

static struct baton_stranger *find_peer(struct baton_strangers *strangers,
                                        const struct baton_peer_key *peer)
{
    bool any = atomic_load(&strangers->n_rows) > 0;
    for (size_t i = 0; any && i < MAX_ROWS; i++)
        if (strangers->rows[i].serial && baton_peer_key_is(&strangers->rows[i].peer, peer))
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
                const struct baton_hang_up_target *target, bool is_kept)
{
    *row = (struct baton_stranger){.serial = ++strangers->n_serials,
                                   .n_scan = strangers->n_scans,
                                   .pipe = pipe,
                                   .peer = baton_peer_key_of(&target->peer),
                                   .is_kept = is_kept,
                                   .since_ns = baton_now_ns(),
                                   .target = *target};
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
        if (!row->serial || row->ends || (host && !is_same_host(&row->target.peer, host)))
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
    strangers->alert_ns = baton_now_ns() + ALERT_NS;
    end(strangers, crowd->oldest, &strangers->stats.n_crowded);
}

/* One more connection. False: there is no room. */
static bool come(struct baton_strangers *strangers, uint32_t pipe,
                 const struct baton_hang_up_target *target)
{
    const struct crowd neighbours = look_at_crowd(strangers, &target->peer);
    crowd_out(strangers, &neighbours, BATON_MAX_STRANGERS_OF_ADDRESS);
    const struct crowd all = look_at_crowd(strangers, NULL);
    crowd_out(strangers, &all, BATON_MAX_STRANGERS);
    struct baton_stranger *row = find_serial(strangers, 0);
    bool is_kept = neighbours.n_kept < BATON_MAX_STRANGERS_OF_ADDRESS / 2 &&
                   all.n_kept < BATON_MAX_STRANGERS / 2;
    if (row)
        put(strangers, row, pipe, target, is_kept);
    else
        strangers->stats.n_crowded++;
    pthread_cond_signal(&strangers->changed);
    return row != NULL;
}

/* Its handshakes are over: a stranger that the thread has seen has a pipe now, and no more time. */
static bool name_pipe(struct baton_strangers *strangers, uint32_t pipe,
                      const struct sockaddr_storage *peer, const struct baton_peer_key *key)
{
    struct baton_stranger *row = find_peer(strangers, key);
    if (!row || row->pipe)
        return come(strangers, pipe, &(struct baton_hang_up_target){.peer = *peer, .fd = -1});
    row->pipe = pipe;
    return true;
}

bool baton_strangers_add(struct baton_strangers *strangers, uint32_t pipe,
                         const struct sockaddr_storage *peer)
{
    const struct baton_peer_key key = baton_peer_key_of(peer);
    pthread_mutex_lock(&strangers->lock);
    bool has_room = name_pipe(strangers, pipe, peer, &key) &&
                    !baton_known_pipes_add(&strangers->pipes, pipe, &key, baton_now_ns());
    pthread_mutex_unlock(&strangers->lock);
    return has_room;
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

/* The lock is held. */
static void drop_row(struct baton_strangers *strangers, uint32_t pipe)
{
    struct baton_stranger *row = find(strangers, pipe);
    if (row)
        take(strangers, row);
}

void baton_strangers_admit(struct baton_strangers *strangers, uint32_t pipe)
{
    pthread_mutex_lock(&strangers->lock);
    drop_row(strangers, pipe);
    pthread_mutex_unlock(&strangers->lock);
}

void baton_strangers_forget(struct baton_strangers *strangers, uint32_t pipe)
{
    pthread_mutex_lock(&strangers->lock);
    drop_row(strangers, pipe);
    baton_known_pipes_remove(&strangers->pipes, pipe);
    pthread_mutex_unlock(&strangers->lock);
}

void baton_strangers_reject(struct baton_strangers *strangers, uint32_t pipe,
                            const struct sockaddr_storage *peer)
{
    uint64_t not_counted = 0;
    pthread_mutex_lock(&strangers->lock);
    struct baton_stranger *row = find(strangers, pipe), *free_row = find_serial(strangers, 0);
    if (!row && free_row) {
        put(strangers, free_row, pipe, &(struct baton_hang_up_target){.peer = *peer, .fd = -1},
            false);
        row = free_row;
    }
    if (row) {
        row->is_crowded = false;
        end(strangers, row, &not_counted);
    }
    pthread_mutex_unlock(&strangers->lock);
    if (row)
        return;
    pthread_mutex_lock(&strangers->judge_lock); /* a full table: at once */
    (void)baton_hang_up_peer(&strangers->judge.hang_up, peer);
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
    stats->n_open = atomic_load(&strangers->n_rows);
    pthread_mutex_unlock(&strangers->lock);
}

/* ---- the thread ---- */

/* One connection of the scan: a stranger's, or one that NNG has reported and the owner admitted, or
 * a new one. The judge's lock is held. */
static void see(void *arg, const struct baton_hang_up_target *connection)
{
    struct baton_strangers *strangers = arg;
    const struct baton_peer_key key = baton_peer_key_of(&connection->peer);
    bool stays = true;
    pthread_mutex_lock(&strangers->lock);
    struct baton_stranger *row = find_peer(strangers, &key);
    bool is_known = baton_known_pipes_see(&strangers->pipes, &key, baton_now_ns());
    bool is_open = (row || !is_known) && baton_hang_up_is_established(connection);
    if (is_open && row) {
        row->target.fd = connection->fd;
        row->n_scan = strangers->n_scans;
    } else if (is_open) {
        strangers->found_new = true;
        stays = come(strangers, 0, connection);
    }
    pthread_mutex_unlock(&strangers->lock);
    if (!stays)
        (void)baton_hang_up_one(&strangers->judge.hang_up, connection);
}

/* Nobody tells of the end of a connection without a pipe: it is not seen any more. */
static void drop_unseen(struct baton_strangers *strangers)
{
    for (size_t i = 0; i < MAX_ROWS; i++) {
        struct baton_stranger *row = &strangers->rows[i];
        if (row->serial && !row->pipe && row->n_scan != strangers->n_scans)
            take(strangers, row);
    }
}

/* NNG 1.5.2 does not notice the end of a connection by TLS that comes while it waits for nothing
 * from it: it has shut the socket down, and keeps the pipe and the descriptor. So pipes are closed
 * that a scan from begin_ns on did not see. That is safe (hang_up.h): nothing arrives any more. A
 * pipe may wait for the inbox's owner, with a message, so the time begins after that. */
static void close_unseen(struct baton_strangers *strangers, int64_t begin_ns)
{
    int64_t since_ns = begin_ns - strangers->judge.patience_ns;
    if (atomic_load_explicit(&strangers->is_waiting, memory_order_relaxed))
        strangers->waited_ns = begin_ns;
    for (uint32_t pipe = 1; pipe && strangers->waited_ns < since_ns;) {
        pthread_mutex_lock(&strangers->lock);
        pipe = baton_known_pipes_take_unseen(&strangers->pipes, since_ns, begin_ns);
        pthread_mutex_unlock(&strangers->lock);
        if (pipe)
            (void)nng_pipe_close((nng_pipe){.id = pipe});
    }
}

/* Looks for all connections to the port. The judge's lock is held. */
static void scan(struct baton_strangers *strangers)
{
    int64_t begin_ns = baton_now_ns();
    pthread_mutex_lock(&strangers->lock);
    strangers->n_scans++;
    strangers->found_new = false;
    pthread_mutex_unlock(&strangers->lock);
    if (baton_hang_up_each(&strangers->judge.hang_up, see, strangers))
        close_unseen(strangers, begin_ns);
    int64_t end_ns = baton_now_ns(), taken_ns = end_ns - begin_ns;
    pthread_mutex_lock(&strangers->lock);
    drop_unseen(strangers);
    bool is_alert = strangers->found_new || end_ns < strangers->alert_ns;
    int64_t least_ns = is_alert ? PAUSE_NS : SCAN_PAUSE_NS;
    int64_t share_ns = (is_alert ? PAUSE_PASSES : PAUSE_SCANS) * taken_ns;
    strangers->next_scan_ns = end_ns + (share_ns > least_ns ? share_ns : least_ns);
    pthread_mutex_unlock(&strangers->lock);
}

/* The rows that were looked at, unless they changed hands meanwhile. */
static void write_back(struct baton_strangers *strangers, const struct baton_stranger *rows,
                       size_t n, const struct baton_strangers_stats *ended)
{
    for (size_t i = 0; i < n; i++) {
        struct baton_stranger *row = find_serial(strangers, rows[i].serial);
        if (!row)
            continue;
        row->target.fd = rows[i].target.fd;
        row->since_ns = rows[i].since_ns;
        row->n_looks = row->ends && !rows[i].ends ? 0 : rows[i].n_looks;
        row->ends |= rows[i].ends;
        bool is_gone = row->n_looks >= MAX_LOOKS && row->target.fd < 0;
        if (row->ends && (is_gone || (!row->pipe && row->n_looks)))
            take(strangers, row); /* nobody will say that it is gone */
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

/* The lock is held. Rows that were hung up wait for NNG to say that they are gone. */
static size_t copy_rows(const struct baton_strangers *strangers, struct baton_stranger *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < MAX_ROWS; i++)
        if (strangers->rows[i].serial &&
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

static bool lacks_descriptor(struct baton_strangers *strangers)
{
    bool lacks = false;
    pthread_mutex_lock(&strangers->lock);
    for (size_t i = 0; i < MAX_ROWS; i++)
        lacks |= strangers->rows[i].serial && strangers->rows[i].target.fd < 0 &&
                 strangers->rows[i].n_looks < MAX_LOOKS;
    pthread_mutex_unlock(&strangers->lock);
    return lacks;
}

/* Judges a copy of the rows: NNG's threads do not wait for it. The judge's lock is held. */
static void judge(struct baton_strangers *strangers)
{
    struct baton_stranger rows[MAX_ROWS];
    struct baton_strangers_stats ended = {0};
    bool is_waiting = atomic_load_explicit(&strangers->is_waiting, memory_order_relaxed);
    pthread_mutex_lock(&strangers->lock);
    size_t n = copy_rows(strangers, rows);
    begin_judgement(strangers);
    pthread_mutex_unlock(&strangers->lock);
    if (!n)
        return;
    baton_stranger_judge_all(&strangers->judge, rows, n, is_waiting, &ended);
    log_ended(&ended);
    pthread_mutex_lock(&strangers->lock);
    write_back(strangers, rows, n, &ended);
    pthread_mutex_unlock(&strangers->lock);
}

/* Looks for connections when it is time or a stranger's is not known, then judges the strangers. */
static void pass(struct baton_strangers *strangers)
{
    pthread_mutex_lock(&strangers->judge_lock);
    if (baton_now_ns() >= strangers->next_scan_ns || lacks_descriptor(strangers))
        scan(strangers);
    judge(strangers);
    pthread_mutex_unlock(&strangers->judge_lock);
    baton_peer_tls_tell_refused();
}

static int64_t next_pass_ns(int64_t begin_ns)
{
    int64_t now_ns = baton_now_ns(), share_ns = PAUSE_PASSES * (now_ns - begin_ns);
    return now_ns + (share_ns > PAUSE_NS ? share_ns : PAUSE_NS);
}

static void *run(void *arg)
{
    struct baton_strangers *strangers = arg;
    int64_t next_ns = 0;
    (void)pthread_setname_np(pthread_self(), "baton-strangers");
    pthread_mutex_lock(&strangers->lock);
    while (!strangers->stopping) {
        bool any = atomic_load(&strangers->n_rows) > 0;
        int64_t now_ns = baton_now_ns(), due_ns = any ? next_ns : strangers->next_scan_ns;
        if (now_ns < due_ns) {
            (void)baton_cond_wait_until(&strangers->changed, &strangers->lock, due_ns);
            if (!any) /* who belongs here is admitted by then, and costs no pass */
                next_ns = baton_now_ns() + PAUSE_NS;
            continue;
        }
        pthread_mutex_unlock(&strangers->lock);
        pass(strangers);
        next_ns = next_pass_ns(now_ns);
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
    baton_known_pipes_init(&started->pipes);
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
