#include "tests/unit/engine/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "common/engine/pool.h"

enum { N_ITEMS = 1000, N_THREADS = 4 };

struct counts {
    atomic_int runs[N_ITEMS];
    int plain[N_ITEMS]; /* written without synchronisation of its own */
    atomic_int bad_workers;
};

static void count(void *arg, int item, int worker)
{
    struct counts *counts = arg;
    atomic_fetch_add(&counts->runs[item], 1);
    counts->plain[item]++;
    if (worker < 0 || worker >= N_THREADS)
        atomic_fetch_add(&counts->bad_workers, 1);
}

static void every_item_runs_once_and_is_visible_when_run_returns(void **state)
{
    static struct counts counts;
    struct baton_pool *pool;
    int wanted[N_ITEMS] = {0};
    (void)state;
    assert_int_equal(baton_pool_create(N_THREADS, &pool, NULL), BATON_OK);
    assert_int_equal(baton_pool_n_threads(pool), N_THREADS);
    for (int loop = 0; loop < 500; loop++) {
        int n = loop * 37 % (N_ITEMS + 1);
        baton_pool_run(pool, n, count, &counts);
        for (int i = 0; i < n; i++)
            wanted[i]++;
        assert_memory_equal(counts.plain, wanted, sizeof wanted);
    }
    for (int i = 0; i < N_ITEMS; i++)
        assert_int_equal(atomic_load(&counts.runs[i]), wanted[i]);
    assert_int_equal(atomic_load(&counts.bad_workers), 0);
    baton_pool_destroy(pool);
}

static void helpers_that_fell_asleep_come_back(void **state)
{
    static struct counts counts;
    const struct timespec pause = {.tv_nsec = 5000000}; /* far longer than helpers spin */
    struct baton_pool *pool;
    (void)state;
    assert_int_equal(baton_pool_create(N_THREADS, &pool, NULL), BATON_OK);
    for (int loop = 0; loop < 20; loop++) {
        (void)nanosleep(&pause, NULL);
        baton_pool_run(pool, N_ITEMS, count, &counts);
    }
    for (int i = 0; i < N_ITEMS; i++)
        assert_int_equal(counts.plain[i], 20);
    baton_pool_destroy(pool);
}

struct places {
    cpu_set_t allowed[N_THREADS];
    atomic_int n_seen[N_THREADS];
    int n_threads;
};

/* Lasts long enough that every thread takes an item. */
static void note_place(void *arg, int item, int worker)
{
    struct places *places = arg;
    (void)item;
    if (!atomic_fetch_add(&places->n_seen[worker], 1))
        (void)sched_getaffinity(0, sizeof places->allowed[0], &places->allowed[worker]);
    for (int i = 0; i < 1000 && !atomic_load(&places->n_seen[places->n_threads - 1]); i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void *run_pinned(void *arg)
{
    struct places *places = arg;
    struct baton_pool *pool;
    assert_int_equal(baton_pool_create(places->n_threads, &pool, NULL), BATON_OK);
    baton_pool_pin(pool);
    baton_pool_run(pool, 2 * places->n_threads, note_place, places);
    baton_pool_destroy(pool);
    return NULL;
}

static void pinned_threads_have_a_processor_each(void **state)
{
    static struct places places;
    cpu_set_t before, after, all;
    pthread_t caller;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    places.n_threads = CPU_COUNT(&before) < N_THREADS ? CPU_COUNT(&before) : N_THREADS;
    assert_int_equal(pthread_create(&caller, NULL, run_pinned, &places), 0);
    assert_int_equal(pthread_join(caller, NULL), 0);
    CPU_ZERO(&all);
    for (int i = 0; i < places.n_threads; i++) {
        if (!atomic_load(&places.n_seen[i]))
            continue;
        assert_int_equal(CPU_COUNT(&places.allowed[i]), 1);
        CPU_AND(&after, &all, &places.allowed[i]);
        assert_int_equal(CPU_COUNT(&after), 0);
        CPU_OR(&all, &all, &places.allowed[i]);
    }
    CPU_AND(&after, &all, &before);
    assert_true(CPU_EQUAL(&after, &all) && CPU_COUNT(&all));
}

static void too_few_processors_leave_the_threads_free(void **state)
{
    cpu_set_t before, after;
    struct baton_pool *pool;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(baton_pool_create(CPU_COUNT(&before) + 1, &pool, NULL), BATON_OK);
    baton_pool_pin(pool);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    baton_pool_destroy(pool);
}

static void one_thread_is_the_caller_alone(void **state)
{
    static struct counts counts;
    struct baton_pool *pool;
    (void)state;
    assert_int_equal(baton_pool_create(1, &pool, NULL), BATON_OK);
    baton_pool_run(pool, N_ITEMS, count, &counts);
    assert_int_equal(counts.plain[N_ITEMS - 1], 1);
    baton_pool_destroy(pool);
}

static void impossible_thread_counts_are_refused(void **state)
{
    struct baton_pool *pool = NULL;
    struct baton_why why;
    (void)state;
    assert_int_equal(baton_pool_create(0, &pool, &why), BATON_INVALID);
    assert_int_equal(baton_pool_create(BATON_POOL_MAX_THREADS + 1, &pool, &why), BATON_INVALID);
    assert_null(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_runs_once_and_is_visible_when_run_returns),
        cmocka_unit_test(helpers_that_fell_asleep_come_back),
        cmocka_unit_test(pinned_threads_have_a_processor_each),
        cmocka_unit_test(too_few_processors_leave_the_threads_free),
        cmocka_unit_test(one_thread_is_the_caller_alone),
        cmocka_unit_test(impossible_thread_counts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
