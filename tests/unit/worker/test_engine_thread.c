/* The engine thread with hooks that count instead of computing. */
#include "tests/support/test.h"

#include <stdatomic.h>

#include "common/base/clock.h"
#include "common/base/doorbell.h"
#include "common/worker/engine_thread.h"

enum { N_ITEMS = 40, N_STEPS = 3, PATIENCE_MS = 20000 };

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

static void open_thread(int max_queued, int max_held)
{
    const struct baton_engine_thread_options options = {
        .hooks = {.add = add, .schedule = schedule, .run = run},
        .cores = &cores,
        .max_queued = max_queued,
        .max_held = max_held,
        .wake = baton_doorbell_ring,
        .wake_arg = &bell};
    assert_int_equal(baton_doorbell_init(&bell), BATON_OK);
    assert_int_equal(baton_engine_thread_create(&options, &thread, NULL), BATON_OK);
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
        assert_int_equal(baton_engine_thread_submit(thread, &items[i]), BATON_OK);
    assert_int_equal(baton_engine_thread_stats(thread).n_inside, N_ITEMS);
    assert_int_equal(baton_engine_thread_start(thread, NULL), BATON_OK);
    for (int i = 0; i < N_ITEMS; i++) {
        assert_ptr_equal(await_done(), &items[i]);
        assert_int_equal(items[i].n_steps, N_STEPS);
    }
    assert_int_equal(baton_engine_thread_stats(thread).n_inside, 0);
    assert_true(baton_engine_thread_stats(thread).tokens_per_s > 0);
    assert_true(baton_engine_thread_stats(thread).busy_s > 0);
    close_thread();
}

TEST(no_more_items_are_taken_than_may_be_held)
{
    open_thread(N_ITEMS, 3);
    for (int i = 0; i < N_ITEMS; i++)
        assert_int_equal(baton_engine_thread_submit(thread, &items[i]), BATON_OK);
    assert_int_equal(baton_engine_thread_start(thread, NULL), BATON_OK);
    for (int i = 0; i < N_ITEMS; i++)
        (void)await_done();
    close_thread();
    assert_int_equal(most_held, 3);
}

TEST(an_item_that_waits_goes_on_after_a_wake_up)
{
    open_thread(N_ITEMS, N_ITEMS);
    atomic_store(&items[0].held_up, true);
    assert_int_equal(baton_engine_thread_start(thread, NULL), BATON_OK);
    assert_int_equal(baton_engine_thread_submit(thread, &items[0]), BATON_OK);
    assert_int_equal(baton_engine_thread_submit(thread, &items[1]), BATON_OK);
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

TEST(stopping_forgets_what_is_inside)
{
    open_thread(N_ITEMS, N_ITEMS);
    for (int i = 0; i < N_ITEMS; i++) {
        atomic_store(&items[i].held_up, true);
        assert_int_equal(baton_engine_thread_submit(thread, &items[i]), BATON_OK);
    }
    assert_int_equal(baton_engine_thread_start(thread, NULL), BATON_OK);
    close_thread();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_back_in_order_when_they_are_done),
        cmocka_unit_test(no_more_items_are_taken_than_may_be_held),
        cmocka_unit_test(an_item_that_waits_goes_on_after_a_wake_up),
        cmocka_unit_test(a_full_queue_takes_no_more),
        cmocka_unit_test(stopping_forgets_what_is_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
