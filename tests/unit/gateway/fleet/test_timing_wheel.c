#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/fleet/timing_wheel.h"

enum { SLOT_NS = 10, N = 500 };

static struct gw_timing_wheel wheel;
static struct gw_worker workers[N];
static int64_t due_ns[N];

static void put(int i, int64_t at_ns)
{
    due_ns[i] = at_ns;
    gw_timing_wheel_put(&wheel, &workers[i], at_ns);
}

/* Takes all that are due, and looks that each was. */
static int take_all(int64_t now_ns)
{
    int n = 0;
    for (struct gw_worker *worker; (worker = gw_timing_wheel_take(&wheel, now_ns)); n++)
        assert_true(due_ns[worker - workers] <= now_ns);
    return n;
}

SETUP(begin)
{
    memset(workers, 0, sizeof workers);
    gw_timing_wheel_init(&wheel, SLOT_NS, 0);
}

TEST(each_is_taken_once_at_most_a_slot_late)
{
    enum { ROUNDS = 3 };
    int n = 0;
    srand(1);
    for (int i = 0; i < N; i++)
        put(i, rand() % (ROUNDS * GW_WHEEL_SLOTS * SLOT_NS));
    for (int64_t now_ns = 0; n < N; now_ns += 7) {
        n += take_all(now_ns);
        for (int i = 0; i < N; i++)
            assert_true(!workers[i].in_due.next || due_ns[i] + SLOT_NS > now_ns - 7);
    }
    assert_int_equal(n, N);
}

TEST(after_a_long_pause_all_that_is_due_is_taken)
{
    for (int i = 0; i < N; i++)
        put(i, (int64_t)i * SLOT_NS);
    assert_int_equal(take_all((int64_t)(N - 10) * SLOT_NS), N - 10);
    assert_int_equal(take_all((int64_t)N * SLOT_NS), 10);
}

TEST(what_is_put_while_others_are_taken_is_not_taken_at_the_same_time)
{
    int64_t now_ns = 100;
    put(0, 0);
    assert_ptr_equal(gw_timing_wheel_take(&wheel, now_ns), &workers[0]);
    put(0, 0);
    assert_null(gw_timing_wheel_take(&wheel, now_ns));
    assert_ptr_equal(gw_timing_wheel_take(&wheel, now_ns + SLOT_NS), &workers[0]);
}

TEST(who_is_removed_is_not_taken_whether_it_was_due_or_not)
{
    for (int i = 0; i < 4; i++)
        put(i, i < 3 ? 0 : 1000);
    assert_ptr_equal(gw_timing_wheel_take(&wheel, 50), &workers[0]);
    gw_timing_wheel_remove(&wheel, &workers[0]); /* it is in no slot */
    gw_timing_wheel_remove(&wheel, &workers[1]);
    gw_timing_wheel_remove(&wheel, &workers[3]);
    assert_int_equal(take_all(2000), 1);
}

EACH_TEST(begin, NULL)
