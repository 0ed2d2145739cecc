#include "common/engine/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Spins of some ten nanoseconds each: longer than the pause between two loops of a step, shorter
 * than anybody's time slice. */
enum { N_SPINS = 4000 };

struct helper {
    struct baton_pool *pool;
    pthread_t thread;
    int worker;
};

struct baton_pool {
    int n_threads;
    /* The loop at hand: written before its tickets are issued, read only by holders of one, and the
     * caller does not return while a ticket is held. So a helper that comes late does no harm. */
    baton_item_fn fn;
    void *arg;
    int n_items;
    _Atomic uint64_t tickets; /* loop number << 32 | items not yet taken */
    atomic_int n_unfinished;  /* items not yet done */
    atomic_int n_sleeping;    /* helpers waiting on `issued` */
    atomic_bool caller_sleeps;
    atomic_bool closing;
    pthread_mutex_t lock;
    pthread_cond_t issued, finished;
    struct helper helpers[];
};

static void spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static uint32_t n_not_taken(uint64_t tickets)
{
    return (uint32_t)tickets;
}

/* Takes one item, or returns false when none is left. */
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

static void finish_item(struct baton_pool *pool)
{
    /* Sequentially consistent, as in wait_finished: either this thread sees that the caller sleeps,
     * or the caller sees that nothing is left. */
    if (atomic_fetch_sub(&pool->n_unfinished, 1) != 1 || !atomic_load(&pool->caller_sleeps))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->finished);
    pthread_mutex_unlock(&pool->lock);
}

static void run_items(struct baton_pool *pool, int worker)
{
    uint32_t ticket;
    while (take_ticket(pool, &ticket)) {
        pool->fn(pool->arg, pool->n_items - (int)ticket, worker);
        finish_item(pool);
    }
}

static bool is_called(struct baton_pool *pool)
{
    return n_not_taken(atomic_load(&pool->tickets)) || atomic_load(&pool->closing);
}

static void wait_called(struct baton_pool *pool)
{
    for (int i = 0; i < N_SPINS; i++) {
        if (is_called(pool))
            return;
        spin_pause();
    }
    pthread_mutex_lock(&pool->lock);
    /* Either the caller sees this sleeper, or this sleeper sees the caller's tickets. */
    atomic_fetch_add(&pool->n_sleeping, 1);
    while (!is_called(pool))
        pthread_cond_wait(&pool->issued, &pool->lock);
    atomic_fetch_sub(&pool->n_sleeping, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *help(void *arg)
{
    struct helper *helper = arg;
    for (;;) {
        wait_called(helper->pool);
        if (atomic_load(&helper->pool->closing))
            return NULL;
        run_items(helper->pool, helper->worker);
    }
}

static void wake_helpers(struct baton_pool *pool)
{
    if (!atomic_load(&pool->n_sleeping))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->issued);
    pthread_mutex_unlock(&pool->lock);
}

static void wait_finished(struct baton_pool *pool)
{
    for (int i = 0; i < N_SPINS; i++) {
        if (!atomic_load(&pool->n_unfinished))
            return;
        spin_pause();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_sleeps, true);
    while (atomic_load(&pool->n_unfinished))
        pthread_cond_wait(&pool->finished, &pool->lock);
    atomic_store(&pool->caller_sleeps, false);
    pthread_mutex_unlock(&pool->lock);
}

void baton_pool_run(struct baton_pool *pool, int n_items, baton_item_fn fn, void *arg)
{
    if (pool->n_threads == 1 || n_items <= 1) {
        for (int i = 0; i < n_items; i++)
            fn(arg, i, 0);
        return;
    }
    pool->fn = fn;
    pool->arg = arg;
    pool->n_items = n_items;
    atomic_store(&pool->n_unfinished, n_items);
    uint64_t loop = (atomic_load(&pool->tickets) >> 32) + 1;
    atomic_store(&pool->tickets, loop << 32 | (uint32_t)n_items);
    wake_helpers(pool);
    run_items(pool, 0);
    wait_finished(pool);
}

int baton_pool_n_threads(const struct baton_pool *pool)
{
    return pool->n_threads;
}

enum baton_err baton_pool_create(int n_threads, struct baton_pool **pool, struct baton_why *why)
{
    if (n_threads < 1 || n_threads > BATON_POOL_MAX_THREADS)
        return baton_fail(why, BATON_INVALID, "compute threads: must be 1..%d, not %d",
                          BATON_POOL_MAX_THREADS, n_threads);
    struct baton_pool *made = calloc(1, sizeof *made + (size_t)n_threads * sizeof made->helpers[0]);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "compute pool: out of memory");
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->issued, NULL);
    pthread_cond_init(&made->finished, NULL);
    for (made->n_threads = 1; made->n_threads < n_threads; made->n_threads++) {
        struct helper *helper = &made->helpers[made->n_threads];
        *helper = (struct helper){.pool = made, .worker = made->n_threads};
        int error = pthread_create(&helper->thread, NULL, help, helper);
        if (error) {
            baton_pool_destroy(made);
            return baton_fail(why, BATON_IO, "compute pool: thread: %s", strerror(error));
        }
    }
    *pool = made;
    return BATON_OK;
}

void baton_pool_destroy(struct baton_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->closing, true);
    wake_helpers(pool);
    for (int i = 1; i < pool->n_threads; i++)
        pthread_join(pool->helpers[i].thread, NULL);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->issued);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
