#include "tests/support/test.h"

#include "common/base/clock.h"
#include "gateway/observe/loop_lag.h"

TEST(a_timer_in_time_is_one_sample)
{
    struct baton_hist hist = {0};
    gw_loop_lag_note(&hist, -BATON_MS); /* the loop's clock counts whole milliseconds */
    gw_loop_lag_note(&hist, 0);
    assert_int_equal(hist.n, 2);
    assert_int_equal(hist.counts[0], 2);
}

TEST(a_stop_counts_every_timer_that_fell_due_in_it)
{
    struct baton_hist hist = {0};
    gw_loop_lag_note(&hist, 100 * BATON_MS);
    assert_int_equal(hist.n, 10); /* late by 100, 90, ... 10 ms */
    assert_true(hist.sum_s > 0.549 && hist.sum_s < 0.551);
}

TEST(an_endless_stop_costs_bounded_time)
{
    struct baton_hist hist = {0};
    gw_loop_lag_note(&hist, INT64_MAX);
    assert_true(hist.n <= 2000);
}
