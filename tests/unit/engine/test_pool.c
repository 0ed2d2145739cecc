#include "tests/unit/engine/unit.h"

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
        cmocka_unit_test(one_thread_is_the_caller_alone),
        cmocka_unit_test(impossible_thread_counts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
