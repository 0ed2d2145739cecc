#include "engine/system/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A wait begins with a few microseconds of spinning, which outlast the pause between two loops of a
 * step. Then it yields the core to any other thread that is ready to run there, which costs nothing
 * when there is none. So two pools that share cores wait for each other's items and not for each
 * other's spinning: a helper whose core is needed runs within microseconds. At last it sleeps. */
enum { N_SPINS = 400, N_YIELDS = 400 };

struct helper {
    struct baton_pool *pool;
    pthread_t thread;
    int worker;
    int processor; /* pinned to; only the caller reads and writes it */
};

enum { ANYWHERE = -1 };

enum { CACHE_LINE_BYTES = 64 };

struct baton_pool {
    /* The current loop: written before its tickets are issued, read only by holders of one, and the
     * caller does not return while a ticket is held. So a helper that comes late does no harm. All
     * of it is on one cache line, which a helper that starts to work fetches once. */
    _Alignas(CACHE_LINE_BYTES) _Atomic uint64_t tickets; /* loop number << 32 | items not taken */
    baton_item_fn fn;
    void *arg;
    int n_items;
    atomic_int n_admitted; /* threads that may take items; the others sleep */

    _Alignas(CACHE_LINE_BYTES) atomic_int n_unfinished; /* items not known to be done */

    _Alignas(CACHE_LINE_BYTES) int n_threads; /* from here on: rarely written */
    int n_started;                            /* helpers; under lock */
    baton_share_fn share;
    void *share_arg;
    atomic_int n_sleeping; /* helpers waiting on `issued` */
    atomic_bool caller_sleeps;
    atomic_bool closing;
    pthread_mutex_t lock;
    pthread_cond_t issued, finished, admitted;
    struct helper helpers[]; /* [n_threads]; the first one is the caller */
};

static void spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint32_t n_not_taken(uint64_t tickets)
{
    return (uint32_t)tickets;
}

/* Takes one item, or returns false when none is left. The loop's number in the upper half makes a
 * late exchange fail, so a helper never takes a ticket of the next loop for one of this loop. */
static bool take_ticket(struct baton_pool *pool, uint32_t *ticket)
{
    uint64_t tickets = atomic_load(&pool->tickets);
    do {
        *ticket = n_not_taken(tickets);
        if (!*ticket)
            return false;
    } while (!atomic_compare_exchange_weak(&pool->tickets, &tickets, tickets - 1));
    return true;
}

static void finish_items(struct baton_pool *pool, int n)
{
    /* Sequentially consistent, as in wait_finished: either this thread sees that the caller sleeps,
     * or the caller sees that nothing is left. */
    if (atomic_fetch_sub(&pool->n_unfinished, n) != n || !atomic_load(&pool->caller_sleeps))
        return;
    /* The caller holds the lock between its last check and its sleep, so the signal cannot fall
     * between the two. */
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->finished);
    pthread_mutex_unlock(&pool->lock);
}

static bool is_admitted(const struct helper *helper)
{
    return helper->worker < atomic_load(&helper->pool->n_admitted);
}

/* A failure is ignored: a thread that may not be moved computes where it is. */
static void place(struct helper *helper, int processor)
{
    cpu_set_t one;
    if (helper->processor == processor) /* a system call would cost as much as a small loop */
        return;
    helper->processor = processor;
    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    (void)pthread_setaffinity_np(helper->thread, sizeof one, &one);
}

static void admit(struct baton_pool *pool, int n)
{
    if (atomic_exchange(&pool->n_admitted, n) >= n)
        return; /* no helper to wake: those that are sent away see it between two items */
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->admitted);
    pthread_mutex_unlock(&pool->lock);
}

/* Runs on the caller's thread: applies a new share, if there is one. A helper that is sent away
 * finishes its item first. */
static void update_share(struct baton_pool *pool)
{
    struct baton_share share;
    if (!pool->share || !pool->share(pool->share_arg, &share))
        return;
    int n = share.n < pool->n_threads ? share.n : pool->n_threads;
    for (int i = 0; i < n && share.processors; i++)
        place(&pool->helpers[i], share.processors[i]);
    admit(pool, n < 1 ? 1 : n);
}

/* The caller stays until no item is left. It checks between items whether its share has changed, so
 * a core that is needed elsewhere is given back after an item, not after a loop. */
static void run_callers_items(struct baton_pool *pool)
{
    uint32_t ticket;
    int n = 0;
    for (; take_ticket(pool, &ticket); n++) {
        pool->fn(pool->arg, pool->n_items - (int)ticket, 0);
        update_share(pool);
    }
    if (n)
        finish_items(pool, n);
}

/* Takes items until none is left or its core is needed elsewhere. Reports them once, at the end: a
 * report per item would move the counter's cache line between cores each time. */
static void run_items(struct helper *helper)
{
    struct baton_pool *pool = helper->pool;
    uint32_t ticket;
    int n = 0;
    for (; is_admitted(helper) && take_ticket(pool, &ticket); n++)
        pool->fn(pool->arg, pool->n_items - (int)ticket, helper->worker);
    if (n)
        finish_items(pool, n);
}

/* Whether the helper must leave its wait for items; also when it lost its admission, because it
 * then waits for the next one elsewhere. */
static bool is_called(const struct helper *helper)
{
    struct baton_pool *pool = helper->pool;
    return n_not_taken(atomic_load(&pool->tickets)) || atomic_load(&pool->closing) ||
           !is_admitted(helper);
}

static bool is_finished(const struct helper *caller)
{
    return !atomic_load(&caller->pool->n_unfinished);
}

/* Spins, then yields. Returns whether the condition became true meanwhile. */
static bool await(const struct helper *helper, bool (*is_true)(const struct helper *helper))
{
    for (int i = 0; i < N_SPINS + N_YIELDS; i++) {
        if (is_true(helper))
            return true;
        if (i < N_SPINS)
            spin_pause();
        else
            (void)sched_yield();
    }
    return false;
}

static void wait_admitted(const struct helper *helper)
{
    struct baton_pool *pool = helper->pool;
    if (is_admitted(helper))
        return;
    pthread_mutex_lock(&pool->lock);
    while (!is_admitted(helper) && !atomic_load(&pool->closing))
        pthread_cond_wait(&pool->admitted, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void wait_called(const struct helper *helper)
{
    struct baton_pool *pool = helper->pool;
    if (await(helper, is_called)) /* the usual case within a step: no lock, no system call */
        return;
    pthread_mutex_lock(&pool->lock);
    /* Either the caller sees this sleeper, or this sleeper sees the caller's tickets. */
    atomic_fetch_add(&pool->n_sleeping, 1);
    while (!is_called(helper))
        pthread_cond_wait(&pool->issued, &pool->lock);
    atomic_fetch_sub(&pool->n_sleeping, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void report_started(struct baton_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->n_started++;
    pthread_cond_signal(&pool->finished);
    pthread_mutex_unlock(&pool->lock);
}

static void *help(void *arg)
{
    struct helper *helper = arg;
    (void)pthread_setname_np(pthread_self(), "baton-helper");
    report_started(helper->pool);
    for (;;) {
        wait_admitted(helper);
        wait_called(helper);
        if (atomic_load(&helper->pool->closing))
            return NULL;
        run_items(helper);
    }
}

static void wake_helpers(struct baton_pool *pool)
{
    if (!atomic_load(&pool->n_sleeping)) /* the usual case: no lock, no system call */
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->issued);
    pthread_mutex_unlock(&pool->lock);
}

static void wait_finished(struct baton_pool *pool)
{
    const struct helper *caller = &pool->helpers[0];
    if (await(caller, is_finished))
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true);
    while (!is_finished(caller))
        pthread_cond_wait(&pool->finished, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->lock);
}

void baton_pool_run(struct baton_pool *pool, int n_items, baton_item_fn fn, void *arg)
{
    update_share(pool);
    /* Relaxed: only this thread changes n_admitted. */
    if (n_items <= 1 || atomic_load_explicit(&pool->n_admitted, memory_order_relaxed) == 1) {
        for (int i = 0; i < n_items; i++)
            fn(arg, i, 0);
        return;
    }
    /* No ticket is left of the last loop, so no helper reads these while they change. */
    pool->fn = fn;
    pool->arg = arg;
    pool->n_items = n_items;
    atomic_store(&pool->n_unfinished, n_items);
    /* The store of the tickets publishes fn, arg and n_items: a thread that takes one sees them. */
    uint64_t loop = (atomic_load(&pool->tickets) >> 32) + 1;
    atomic_store(&pool->tickets, loop << 32 | (uint32_t)n_items);
    wake_helpers(pool);
    run_callers_items(pool);
    wait_finished(pool);
}

int baton_pool_n_threads(const struct baton_pool *pool)
{
    return pool->n_threads;
}

static enum baton_err start_helpers(struct baton_pool *pool, int n_threads, struct baton_why *why)
{
    for (; pool->n_threads < n_threads; pool->n_threads++) {
        struct helper *helper = &pool->helpers[pool->n_threads];
        *helper = (struct helper){.pool = pool, .worker = pool->n_threads, .processor = ANYWHERE};
        int error = pthread_create(&helper->thread, NULL, help, helper);
        if (error)
            return baton_fail(why, BATON_IO, "compute pool: thread: %s", strerror(error));
    }
    /* Threads that are still being started would compete with the first loop for its cores. */
    pthread_mutex_lock(&pool->lock);
    while (pool->n_started < n_threads - 1)
        pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return BATON_OK;
}

enum baton_err baton_pool_create(int n_threads, struct baton_pool **pool, struct baton_why *why)
{
    if (n_threads < 1 || n_threads > BATON_POOL_MAX_THREADS)
        return baton_fail(why, BATON_INVALID, "compute threads: must be 1..%d, not %d",
                          BATON_POOL_MAX_THREADS, n_threads);
    size_t n_bytes = sizeof(struct baton_pool) + (size_t)n_threads * sizeof(struct helper);
    void *memory = NULL;
    if (posix_memalign(&memory, CACHE_LINE_BYTES, n_bytes))
        return baton_fail(why, BATON_NO_MEMORY, "compute pool: out of memory");
    struct baton_pool *made = memset(memory, 0, n_bytes);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->issued, NULL);
    pthread_cond_init(&made->finished, NULL);
    pthread_cond_init(&made->admitted, NULL);
    made->n_threads = 1;
    made->helpers[0] = (struct helper){.pool = made, .processor = ANYWHERE};
    atomic_store(&made->n_admitted, n_threads);
    enum baton_err err = start_helpers(made, n_threads, why);
    if (err)
        baton_pool_destroy(made);
    else
        *pool = made;
    return err;
}

void baton_pool_set_share(struct baton_pool *pool, baton_share_fn fn, void *arg)
{
    pool->helpers[0].thread = pthread_self(); /* shares also pin the caller */
    pool->share = fn;
    pool->share_arg = arg;
}

void baton_pool_destroy(struct baton_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->closing, true);
    admit(pool, pool->n_threads); /* those that were sent away must wake to see it */
    wake_helpers(pool);
    for (int i = 1; i < pool->n_threads; i++)
        pthread_join(pool->helpers[i].thread, NULL);
    pthread_cond_destroy(&pool->admitted);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->issued);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
