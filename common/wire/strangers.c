#include "common/wire/strangers.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"

enum { MAX_ROWS = 256, MAX_LOOKS = 3 };

/* Between two passes while there are strangers, at least; and a pass takes a tenth of the time at
 * most, however many descriptors there are. */
#define PAUSE_NS (10 * BATON_MS)
enum { PAUSE_PASSES = 9 };

struct row {
    uint32_t pipe;   /* 0: free */
    bool heard;      /* a whole message came */
    bool ends;       /* to be hung up */
    uint8_t n_looks; /* how often its descriptor was not found, or it was hung up */
    int64_t since_ns;
    struct baton_hang_up_target target;
};

struct baton_strangers {
    pthread_t thread;
    int64_t patience_ns;
    atomic_bool is_waiting;
    atomic_size_t n_rows; /* changed with the lock; read without it, to see that there are none */

    pthread_mutex_t hang_up_lock; /* guards hang_up and last_pass_ns */
    struct baton_hang_up hang_up;
    int64_t last_pass_ns;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct row rows[MAX_ROWS];
    bool stopping;
    struct baton_strangers_stats stats;
};

/* ---- rows; the lock is held ---- */

static struct row *find(struct baton_strangers *strangers, uint32_t pipe)
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

static void take(struct baton_strangers *strangers, struct row *row)
{
    *row = (struct row){0};
    atomic_fetch_sub(&strangers->n_rows, 1);
}

static void put(struct baton_strangers *strangers, struct row *row, uint32_t pipe,
                const struct sockaddr_storage *peer)
{
    *row =
        (struct row){.pipe = pipe, .since_ns = baton_now_ns(), .target = {.peer = *peer, .fd = -1}};
    atomic_fetch_add(&strangers->n_rows, 1);
}

static void end(struct baton_strangers *strangers, struct row *row, uint64_t *count)
{
    row->ends = true;
    row->n_looks = 0;
    ++*count;
    pthread_cond_signal(&strangers->changed);
}

/* Makes room for one more, of that host or (NULL) of any. The oldest that has said nothing goes:
 * who belongs here speaks at once, so that it takes a flood to crowd it out. */
static void crowd_out(struct baton_strangers *strangers, const struct sockaddr_storage *host,
                      size_t max)
{
    struct row *oldest = NULL;
    size_t n = 0;
    for (struct row *row = strangers->rows; row < strangers->rows + MAX_ROWS; row++) {
        if (!row->pipe || row->ends || (host && !is_same_host(&row->target.peer, host)))
            continue;
        n++;
        if (!row->heard && (!oldest || row->since_ns < oldest->since_ns))
            oldest = row;
    }
    if (n >= max && oldest)
        end(strangers, oldest, &strangers->stats.n_crowded);
}

bool baton_strangers_add(struct baton_strangers *strangers, uint32_t pipe,
                         const struct sockaddr_storage *peer)
{
    pthread_mutex_lock(&strangers->lock);
    crowd_out(strangers, peer, BATON_MAX_STRANGERS_OF_ADDRESS);
    crowd_out(strangers, NULL, BATON_MAX_STRANGERS);
    struct row *row = find(strangers, 0);
    if (row)
        put(strangers, row, pipe, peer);
    else
        strangers->stats.n_crowded++;
    pthread_cond_signal(&strangers->changed);
    pthread_mutex_unlock(&strangers->lock);
    return row != NULL;
}

void baton_strangers_heard(struct baton_strangers *strangers, uint32_t pipe)
{
    if (!atomic_load(&strangers->n_rows))
        return;
    pthread_mutex_lock(&strangers->lock);
    struct row *row = find(strangers, pipe);
    if (row)
        row->heard = true;
    pthread_mutex_unlock(&strangers->lock);
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
    struct row *row = find(strangers, pipe);
    if (row)
        take(strangers, row);
    pthread_mutex_unlock(&strangers->lock);
}

void baton_strangers_reject(struct baton_strangers *strangers, uint32_t pipe,
                            const struct sockaddr_storage *peer)
{
    uint64_t not_counted = 0;
    pthread_mutex_lock(&strangers->lock);
    struct row *row = find(strangers, pipe);
    if (!row)
        row = find(strangers, 0);
    if (row) {
        if (!row->pipe)
            put(strangers, row, pipe, peer);
        end(strangers, row, &not_counted);
    }
    pthread_mutex_unlock(&strangers->lock);
    if (row)
        return;
    struct baton_hang_up_target target = {.peer = *peer, .fd = -1}; /* a full table: at once */
    pthread_mutex_lock(&strangers->hang_up_lock);
    baton_hang_up_find(&strangers->hang_up, &target, 1);
    (void)baton_hang_up_one(&strangers->hang_up, &target);
    pthread_mutex_unlock(&strangers->hang_up_lock);
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

/* Bytes that NNG has read from the connection; what the kernel holds is not in our memory. */
static uint64_t bytes_read(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    int unread = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) || ioctl(fd, SIOCINQ, &unread))
        return 0;
    return info.tcpi_bytes_received > (uint64_t)unread ? info.tcpi_bytes_received - (uint64_t)unread
                                                       : 0;
}

/* Fills in the descriptors of the copied rows that lack one. */
static void look_for(struct baton_strangers *strangers, struct row *rows, size_t n)
{
    struct baton_hang_up_target targets[MAX_ROWS];
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].target.fd >= 0 && !baton_hang_up_is_here(&strangers->hang_up, &rows[i].target))
            rows[i].target.fd = -1;
        any |= rows[i].target.fd < 0 && rows[i].n_looks < MAX_LOOKS;
        targets[i] = rows[i].target;
    }
    if (!any)
        return;
    baton_hang_up_find(&strangers->hang_up, targets, n);
    for (size_t i = 0; i < n; i++) {
        rows[i].target.fd = targets[i].fd;
        rows[i].n_looks = (uint8_t)(targets[i].fd < 0 ? rows[i].n_looks + 1 : rows[i].n_looks);
    }
}

/* What unfinished first messages hold; the pipe with most of it in *largest. */
static uint64_t bytes_held(const struct row *rows, size_t n, size_t *largest)
{
    uint64_t sum = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t held = rows[i].target.fd >= 0 && !rows[i].heard && !rows[i].ends
                            ? bytes_read(rows[i].target.fd)
                            : 0;
        sum += held;
        if (held > most) {
            most = held;
            *largest = i;
        }
    }
    return sum;
}

static void judge(struct baton_strangers *strangers, struct row *rows, size_t n,
                  struct baton_strangers_stats *ended)
{
    size_t largest = 0;
    int64_t now_ns = baton_now_ns(), passed_ns = now_ns - strangers->last_pass_ns;
    int64_t oldest_ns = now_ns - strangers->patience_ns;
    strangers->last_pass_ns = now_ns;
    bool waiting = atomic_load_explicit(&strangers->is_waiting, memory_order_relaxed);
    for (size_t i = 0; i < n; i++)
        if (waiting) { /* their owner has not come to them: this time is not theirs */
            int64_t later_ns = rows[i].since_ns + passed_ns;
            rows[i].since_ns = later_ns < now_ns ? later_ns : now_ns;
        } else if (!rows[i].ends && rows[i].since_ns < oldest_ns) {
            rows[i].ends = true;
            rows[i].n_looks = 0;
            ended->n_silent++;
        }
    while (bytes_held(rows, n, &largest) > BATON_MAX_STRANGERS_BYTES) {
        rows[largest].ends = true;
        ended->n_greedy++;
    }
}

/* The rows that were looked at, unless they changed hands meanwhile. */
static void write_back(struct baton_strangers *strangers, const struct row *rows, size_t n,
                       const struct baton_strangers_stats *ended)
{
    for (size_t i = 0; i < n; i++) {
        struct row *row = find(strangers, rows[i].pipe);
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
static void pass(struct baton_strangers *strangers, struct row *rows, size_t n)
{
    struct baton_strangers_stats ended = {0};
    pthread_mutex_lock(&strangers->hang_up_lock);
    look_for(strangers, rows, n);
    judge(strangers, rows, n, &ended);
    for (size_t i = 0; i < n; i++)
        if (rows[i].ends && rows[i].n_looks < MAX_LOOKS) {
            (void)baton_hang_up_one(&strangers->hang_up, &rows[i].target);
            rows[i].n_looks++;
        }
    pthread_mutex_unlock(&strangers->hang_up_lock);
    log_ended(&ended);
    pthread_mutex_lock(&strangers->lock);
    write_back(strangers, rows, n, &ended);
    pthread_mutex_unlock(&strangers->lock);
}

/* The lock is held. Rows that were hung up wait for NNG to say that they are gone. */
static size_t copy_rows(const struct baton_strangers *strangers, struct row *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < MAX_ROWS; i++)
        if (strangers->rows[i].pipe &&
            !(strangers->rows[i].ends && strangers->rows[i].n_looks >= MAX_LOOKS))
            rows[n++] = strangers->rows[i];
    return n;
}

/* The lock is held. Waits for a change, or with rows for the next pass. */
static void await(struct baton_strangers *strangers, size_t n_rows, int64_t next_ns)
{
    struct timespec until = {.tv_sec = next_ns / BATON_SECOND, .tv_nsec = next_ns % BATON_SECOND};
    if (n_rows)
        (void)pthread_cond_timedwait(&strangers->changed, &strangers->lock, &until);
    else
        (void)pthread_cond_wait(&strangers->changed, &strangers->lock);
}

static void *run(void *arg)
{
    struct baton_strangers *strangers = arg;
    struct row rows[MAX_ROWS];
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
    pthread_mutex_lock(&strangers->hang_up_lock);
    (void)baton_hang_up_all(&strangers->hang_up);
    pthread_mutex_unlock(&strangers->hang_up_lock);
}

/* A deadline by the wall clock would move when that clock is set. */
static void init_monotonic(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

static void destroy(struct baton_strangers *strangers)
{
    baton_hang_up_fini(&strangers->hang_up);
    pthread_cond_destroy(&strangers->changed);
    pthread_mutex_destroy(&strangers->lock);
    pthread_mutex_destroy(&strangers->hang_up_lock);
    free(strangers);
}

void baton_strangers_set_port(struct baton_strangers *strangers, int local_port)
{
    pthread_mutex_lock(&strangers->hang_up_lock);
    strangers->hang_up.local_port = local_port;
    pthread_mutex_unlock(&strangers->hang_up_lock);
}

enum baton_err baton_strangers_start(int64_t patience_ns, struct baton_strangers **strangers)
{
    struct baton_strangers *started = calloc(1, sizeof *started);
    if (!started)
        return BATON_NO_MEMORY;
    pthread_mutex_init(&started->lock, NULL);
    pthread_mutex_init(&started->hang_up_lock, NULL);
    init_monotonic(&started->changed);
    started->patience_ns = patience_ns;
    enum baton_err err = baton_hang_up_init(&started->hang_up);
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
