/* The engine thread with hooks that count instead of computing. */
#include "tests/support/test.h"

#include <stdatomic.h>

#include "common/base/clock.h"
#include "common/base/doorbell.h"
#include "worker/engine_thread.h"

enum { N_ITEMS = 40, N_STEPS = 3, PATIENCE_MS = 120000 };

/* Each item takes part in N_STEPS steps, one item a step, in the order in which they came. */
struct item {
    int n_steps;
    atomic_bool held_up; /* takes part in nothing */
};

static struct baton_cores cores = {.n = 1, .n_threads = 1};
static struct baton_doorbell bell;
static struct baton_engine_thread *thread;
static struct item items[N_ITEMS];

/* engine thread */
static struct item *held[N_ITEMS], *next;
static int n_held, most_held;

static void add(void *arg, void *item)
{
    (void)arg;
    held[n_held++] = item;
    most_held = n_held > most_held ? n_held : most_held;
}

static void leave(int i)
{
    baton_engine_thread_hand_back(thread, held[i]);
    for (n_held--; i < n_held; i++)
        held[i] = held[i + 1];
}

static bool schedule(void *arg, int64_t *wait_ns)
{
    (void)arg;
    *wait_ns = -1;
    next = NULL;
    for (int i = 0; i < n_held && !next; i++) {
        if (held[i]->n_steps == N_STEPS)
            leave(i--);
        else if (!atomic_load(&held[i]->held_up))
            next = held[i];
    }
    return next != NULL;
}

static bool run(void *arg, int64_t begin_ns, struct baton_step_report *report)
{
    (void)arg;
    assert_true(begin_ns <= baton_now_ns());
    next->n_steps++;
    *report = (struct baton_step_report){.n_tokens = 2, .n_rows = 1};
    return true;
}

/* ---- the canary ---- */

/* The behaviour of the next canaries. */
static struct {
    atomic_int n_begun, n_yielded;
    atomic_bool waits; /* until the thread has work, to which it yields */
    enum baton_err err;
} bird;

static enum baton_err fly(void *arg, baton_layer_fn goes_on, void *goes_on_arg)
{
    (void)arg;
    (void)atomic_fetch_add(&bird.n_begun, 1);
    while (atomic_load(&bird.waits))
        if (!goes_on(goes_on_arg, 0)) {
            (void)atomic_fetch_add(&bird.n_yielded, 1);
            return BATON_CANCELED;
        }
    return bird.err;
}

static double canary_s, stall_s; /* of the next thread */

static void open_thread(int max_queued, int max_held)
{
    const struct baton_engine_thread_options options = {
        .hooks = {.add = add, .schedule = schedule, .run = run},
        .cores = &cores,
        .canary = {.run = canary_s > 0 ? fly : NULL, .period_s = canary_s},
        .stall_s = stall_s,
        .max_queued = max_queued,
        .max_held = max_held,
        .wake = baton_doorbell_ring,
        .wake_arg = &bell};
    assert_ok(baton_doorbell_init(&bell));
    assert_ok(baton_engine_thread_create(&options, &thread, NULL));
    for (int i = 0; i < N_ITEMS; i++)
        items[i] = (struct item){.n_steps = 0};
    n_held = most_held = 0;
}

static void close_thread(void)
{
    baton_engine_thread_destroy(thread);
    baton_doorbell_fini(&bell);
}

static struct item *await_done(void)
{
    struct item *item;
    int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    while (!(item = baton_engine_thread_take_done(thread))) {
        assert_true(baton_now_ns() < end_ns);
        baton_doorbell_wait(&bell, 10 * BATON_MS);
    }
    return item;
}

TEST(items_come_back_in_order_when_they_are_done)
{
    open_thread(N_ITEMS, N_ITEMS);
    for (int i = 0; i < N_ITEMS; i++)
        assert_ok(baton_engine_thread_submit(thread, &items[i]));
    assert_int_equal(baton_engine_thread_stats(thread).n_inside, N_ITEMS);
    assert_ok(baton_engine_thread_start(thread, NULL));
    for (int i = 0; i < N_ITEMS; i++) {
        assert_ptr_equal(await_done(), &items[i]);
        assert_int_equal(items[i].n_steps, N_STEPS);
    }
    assert_int_equal(baton_engine_thread_stats(thread).n_inside, 0);
    assert_true(baton_engine_thread_stats(thread).tokens_per_s > 0);
    assert_true(baton_engine_thread_stats(thread).busy_s > 0);
    close_thread();
}

/* The queue has a place for a wake-up, but items may take it. */
TEST(a_wake_up_that_found_the_queue_full_does_not_end_the_later_ones)
{
    open_thread(N_ITEMS - 1, N_ITEMS);
    atomic_store(&items[0].held_up, true);
    for (int i = 0; i < N_ITEMS; i++)
        assert_ok(baton_engine_thread_submit(thread, &items[i]));
    baton_engine_thread_wake(thread);
    assert_ok(baton_engine_thread_start(thread, NULL));
    for (int i = 1; i < N_ITEMS; i++)
        assert_ptr_equal(await_done(), &items[i]);
    atomic_store(&items[0].held_up, false);
    baton_engine_thread_wake(thread);
    assert_ptr_equal(await_done(), &items[0]);
    close_thread();
}

TEST(no_more_items_are_taken_than_may_be_held)
{
    open_thread(N_ITEMS, 3);
    for (int i = 0; i < N_ITEMS; i++)
        assert_ok(baton_engine_thread_submit(thread, &items[i]));
    assert_ok(baton_engine_thread_start(thread, NULL));
    for (int i = 0; i < N_ITEMS; i++)
        (void)await_done();
    close_thread();
    assert_int_equal(most_held, 3);
}

TEST(an_item_that_waits_goes_on_after_a_wake_up)
{
    open_thread(N_ITEMS, N_ITEMS);
    atomic_store(&items[0].held_up, true);
    assert_ok(baton_engine_thread_start(thread, NULL));
    assert_ok(baton_engine_thread_submit(thread, &items[0]));
    assert_ok(baton_engine_thread_submit(thread, &items[1]));
    assert_ptr_equal(await_done(), &items[1]);
    atomic_store(&items[0].held_up, false);
    for (int i = 0; i < 5; i++) /* more than one at a time is one */
        baton_engine_thread_wake(thread);
    assert_ptr_equal(await_done(), &items[0]);
    close_thread();
}

TEST(a_full_queue_takes_no_more)
{
    open_thread(2, 2);
    int n = 0;
    while (n < N_ITEMS && !baton_engine_thread_submit(thread, &items[n]))
        n++;
    assert_int_equal(n, 3); /* two, and the slot of a wake-up */
    assert_int_equal(baton_engine_thread_stats(thread).n_inside, 3);
    close_thread();
}

TEST(stopping_drops_queued_items)
{
    open_thread(N_ITEMS, N_ITEMS);
    for (int i = 0; i < N_ITEMS; i++) {
        atomic_store(&items[i].held_up, true);
        assert_ok(baton_engine_thread_submit(thread, &items[i]));
    }
    assert_ok(baton_engine_thread_start(thread, NULL));
    close_thread();
}

/* ---- canaries ---- */

static void open_with_canary(double period_s)
{
    canary_s = period_s;
    bird.err = BATON_OK;
    atomic_store(&bird.n_begun, 0);
    atomic_store(&bird.n_yielded, 0);
    open_thread(N_ITEMS, N_ITEMS);
    canary_s = stall_s = 0;
}

static void await_count(atomic_int *count, int wanted)
{
    int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    while (atomic_load(count) < wanted)
        assert_true(baton_now_ns() < end_ns);
}

static void await_canaries(unsigned n)
{
    int64_t end_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    while (baton_engine_thread_stats(thread).n_canaries < n)
        assert_true(baton_now_ns() < end_ns);
}

TEST(an_idle_thread_runs_canaries_at_start_and_again)
{
    open_with_canary(0.001);
    assert_ok(baton_engine_thread_start(thread, NULL));
    await_canaries(5);
    assert_int_equal(baton_engine_thread_stats(thread).n_canary_failures, 0);
    assert_true(baton_engine_thread_stats(thread).busy_s == 0); /* that is for work */
    close_thread();
}

TEST(a_canary_with_other_bits_is_reported)
{
    open_with_canary(0.001);
    bird.err = BATON_CORRUPT;
    assert_ok(baton_engine_thread_start(thread, NULL));
    await_canaries(2);
    assert_true(baton_engine_thread_stats(thread).n_canary_failures >= 2);
    close_thread();
}

TEST(a_canary_yields_to_an_item_and_runs_again)
{
    open_with_canary(0.001);
    atomic_store(&bird.waits, true);
    assert_ok(baton_engine_thread_start(thread, NULL));
    await_count(&bird.n_begun, 1);
    assert_ok(baton_engine_thread_submit(thread, &items[0]));
    assert_ptr_equal(await_done(), &items[0]);
    assert_int_equal(atomic_load(&bird.n_yielded), 1);
    assert_int_equal(baton_engine_thread_stats(thread).n_canaries, 0);
    atomic_store(&bird.waits, false);
    await_canaries(1);
    assert_int_equal(baton_engine_thread_stats(thread).n_canary_failures, 0);
    close_thread();
}

TEST(a_canary_yields_to_a_wake_up_and_to_the_end)
{
    open_with_canary(0.001);
    atomic_store(&bird.waits, true);
    assert_ok(baton_engine_thread_start(thread, NULL));
    await_count(&bird.n_begun, 1);
    baton_engine_thread_wake(thread);
    await_count(&bird.n_yielded, 1);
    await_count(&bird.n_begun, 2);
    close_thread();
    atomic_store(&bird.waits, false);
}

TEST(a_canary_that_does_not_come_back_is_a_stall)
{
    int64_t now_ns = BATON_SECOND;
    stall_s = 1;
    atomic_store(&bird.waits, true);
    open_with_canary(3600);
    assert_ok(baton_engine_thread_start(thread, NULL));
    await_count(&bird.n_begun, 1);
    for (int i = 0; i < 100; i++) /* what a first step takes is not known: patience is long */
        baton_engine_thread_check_stall(thread, now_ns += BATON_SECOND / 4);
    assert_true(baton_engine_thread_stats(thread).stalled_s > 1);
    atomic_store(&bird.waits, false);
    await_canaries(1);
    for (int i = 0; i < 100; i++)
        baton_engine_thread_check_stall(thread, now_ns += BATON_SECOND / 4);
    assert_true(baton_engine_thread_stats(thread).stalled_s == 0);
    close_thread();
}

TEST(an_idle_thread_that_does_not_start_its_canary_is_a_stall)
{
    int64_t now_ns = BATON_SECOND;
    stall_s = 1;
    open_with_canary(3600); /* and never started, as one that is frozen */
    for (int i = 0; i < 100; i++)
        baton_engine_thread_check_stall(thread, now_ns += BATON_SECOND / 4);
    assert_true(baton_engine_thread_stats(thread).stalled_s > 1);
    close_thread();
}
