#include "tests/support/test.h"

#include "common/base/clock.h"
#include "worker/pace.h"

static struct baton_progress progress;
static int64_t now_ns;

SETUP(init)
{
    progress = (struct baton_progress){0};
    now_ns = 1000 * BATON_SECOND;
}

/* Looks every 250 ms for so many seconds. */
static double watch(bool has_work, uint64_t n_done, int seconds)
{
    double still_s = 0;
    for (int i = 0; i < 4 * seconds; i++) {
        now_ns += BATON_SECOND / 4;
        still_s = baton_progress_poll(&progress, has_work, n_done, now_ns);
    }
    return still_s;
}

TEST(work_without_progress_is_a_stall)
{
    (void)watch(true, 7, 1);
    assert_true(watch(true, 7, 2) > 2);
    assert_true(watch(true, 8, 1) < 1);
}

TEST(idleness_is_no_stall)
{
    assert_true(watch(false, 0, 60) == 0);
    (void)watch(true, 0, 1);
    assert_true(watch(false, 0, 1) == 0);
}

TEST(slow_progress_is_no_stall)
{
    for (uint64_t n = 1; n < 100; n++)
        assert_true(watch(true, n, 1) < 1);
}

TEST(time_without_a_poll_hardly_counts)
{
    (void)watch(true, 7, 1);
    now_ns += 3600 * BATON_SECOND;
    assert_true(baton_progress_poll(&progress, true, 7, now_ns) < 2);
}

TEST(patience_grows_with_the_usual_time_and_is_long_while_that_is_unknown)
{
    assert_true(baton_progress_patience_s(1, 0.001) == 1);
    assert_true(baton_progress_patience_s(1, 2) == 16);
    assert_true(baton_progress_patience_s(1, 0) == 10);
    assert_true(baton_progress_patience_s(60, 0) == 60);
}

EACH_TEST(init, NULL)
