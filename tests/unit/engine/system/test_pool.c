#include "tests/unit/engine/unit.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/system/pool.h"

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

TEST(every_item_runs_once_and_is_visible_when_run_returns)
{
    static struct counts counts;
    struct baton_pool *pool;
    int wanted[N_ITEMS] = {0};
    assert_ok(baton_pool_create(N_THREADS, &pool, NULL));
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

/* 'R' of a thread that runs, 'S' of one that sleeps, as the kernel tells it. */
static char state_of_thread(const char *id)
{
    char path[64], state = 0;
    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", id);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    (void)fclose(file);
    return state;
}

static bool does_any_other_thread_run(void)
{
    bool any = false;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks));)
        any |= atoi(task->d_name) > 0 && atoi(task->d_name) != gettid() &&
               state_of_thread(task->d_name) == 'R';
    (void)closedir(tasks);
    return any;
}

/* Helpers spin for a while before they sleep. */
static void wait_until_helpers_sleep(void)
{
    while (does_any_other_thread_run())
        (void)sched_yield();
}

TEST(helpers_that_fell_asleep_come_back)
{
    static struct counts counts;
    struct baton_pool *pool;
    assert_ok(baton_pool_create(N_THREADS, &pool, NULL));
    for (int loop = 0; loop < 20; loop++) {
        wait_until_helpers_sleep();
        baton_pool_run(pool, N_ITEMS, count, &counts);
    }
    for (int i = 0; i < N_ITEMS; i++)
        assert_int_equal(counts.plain[i], 20);
    baton_pool_destroy(pool);
}

/* A share that changes with every call while n_changing, and then stays. */
struct shares {
    uint64_t state; /* of the random numbers */
    int n_changing, n, n_asked;
    int processors[N_THREADS];
    int n_allowed, allowed[CPU_SETSIZE];
};

static unsigned draw(struct shares *shares, unsigned below)
{
    shares->state = shares->state * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(shares->state >> 33) % below;
}

static void find_allowed(struct shares *shares)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            shares->allowed[shares->n_allowed++] = cpu;
}

static bool share_at_random(void *arg, struct baton_share *share)
{
    struct shares *shares = arg;
    shares->n_asked++;
    if (!shares->n_changing || draw(shares, 4))
        return false;
    shares->n_changing--;
    shares->n = 1 + (int)draw(shares, N_THREADS);
    for (int i = 0; i < shares->n; i++)
        shares->processors[i] = shares->allowed[draw(shares, (unsigned)shares->n_allowed)];
    *share = (struct baton_share){.n = shares->n, .processors = shares->processors};
    return true;
}

static void *run_shared(void *arg)
{
    static struct counts counts;
    int wanted[N_ITEMS] = {0};
    struct shares *shares = arg;
    struct baton_pool *pool;
    assert_ok(baton_pool_create(N_THREADS, &pool, NULL));
    baton_pool_set_share(pool, share_at_random, shares);
    for (int loop = 0; shares->n_changing; loop++) {
        int n = loop * 37 % (N_ITEMS / 4);
        baton_pool_run(pool, n, count, &counts);
        for (int i = 0; i < n; i++)
            wanted[i]++;
        assert_memory_equal(counts.plain, wanted, sizeof wanted);
        if (!(loop % 64)) /* so that helpers also fall asleep, admitted and not */
            wait_until_helpers_sleep();
    }
    assert_int_equal(atomic_load(&counts.bad_workers), 0);
    baton_pool_destroy(pool);
    return NULL;
}

/* On a thread of its own, which the shares move about. */
TEST(shares_that_change_in_the_middle_lose_no_item)
{
    static struct shares shares = {.state = 5, .n_changing = 4000};
    pthread_t caller;
    find_allowed(&shares);
    assert_int_equal(pthread_create(&caller, NULL, run_shared, &shares), 0);
    assert_int_equal(pthread_join(caller, NULL), 0);
    assert_true(shares.n_asked > 4000);
}

struct places {
    cpu_set_t allowed[N_THREADS];
    atomic_int n_seen[N_THREADS];
    int n_threads, n_shared, processors[N_THREADS];
};

/* Returns when every thread of the share has an item. */
static void record_place(void *arg, int item, int worker)
{
    struct places *places = arg;
    (void)item;
    if (!atomic_fetch_add(&places->n_seen[worker], 1))
        (void)sched_getaffinity(0, sizeof places->allowed[0], &places->allowed[worker]);
    for (int i = 0; i < places->n_threads; i++)
        while (!atomic_load(&places->n_seen[i]))
            (void)sched_yield();
}

static bool share_places(void *arg, struct baton_share *share)
{
    struct places *places = arg;
    *share = (struct baton_share){.n = places->n_threads, .processors = places->processors};
    return !places->n_shared++;
}

static void *run_placed(void *arg)
{
    struct places *places = arg;
    struct baton_pool *pool;
    assert_ok(baton_pool_create(N_THREADS, &pool, NULL));
    baton_pool_set_share(pool, share_places, places);
    baton_pool_run(pool, 8, record_place, places);
    baton_pool_destroy(pool);
    return NULL;
}

TEST(threads_of_a_share_are_where_it_says_and_the_others_take_nothing)
{
    static struct places places;
    static struct shares shares;
    pthread_t caller;
    find_allowed(&shares);
    places.n_threads = 2;
    for (int i = 0; i < places.n_threads; i++)
        places.processors[i] = shares.allowed[(shares.n_allowed - 1) * !i];
    assert_int_equal(pthread_create(&caller, NULL, run_placed, &places), 0);
    assert_int_equal(pthread_join(caller, NULL), 0);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(!atomic_load(&places.n_seen[i]), i >= places.n_threads);
        if (i < places.n_threads) {
            assert_int_equal(CPU_COUNT(&places.allowed[i]), 1);
            assert_true(CPU_ISSET(places.processors[i], &places.allowed[i]));
        }
    }
}

TEST(one_thread_is_the_caller_alone)
{
    static struct counts counts;
    struct baton_pool *pool;
    assert_ok(baton_pool_create(1, &pool, NULL));
    baton_pool_run(pool, N_ITEMS, count, &counts);
    assert_int_equal(counts.plain[N_ITEMS - 1], 1);
    baton_pool_destroy(pool);
}

TEST(impossible_thread_counts_are_refused)
{
    struct baton_pool *pool = NULL;
    struct baton_why why;
    assert_int_equal(baton_pool_create(0, &pool, &why), BATON_INVALID);
    assert_int_equal(baton_pool_create(BATON_POOL_MAX_THREADS + 1, &pool, &why), BATON_INVALID);
    assert_null(pool);
}
