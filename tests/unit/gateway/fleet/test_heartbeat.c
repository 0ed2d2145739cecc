#include "tests/support/test.h"

#include "common/base/clock.h"
#include "gateway/fleet/heartbeat.h"

static const struct gw_heartbeat usual = {.beat_ns = 250 * BATON_MS, .per_s = GW_BEATS_PER_S};

TEST(a_fleet_of_up_to_100_workers_beats_as_often_as_its_options_say)
{
    assert_int_equal(gw_heartbeat_pause_ns(&usual, 0), 250 * BATON_MS);
    assert_int_equal(gw_heartbeat_pause_ns(&usual, 100), 250 * BATON_MS);
}

TEST(the_pause_of_a_larger_one_keeps_the_beats_a_second)
{
    for (size_t n = 101; n <= 4096; n++) {
        double per_s = (double)n / baton_seconds(gw_heartbeat_pause_ns(&usual, n));
        assert_true(per_s > GW_BEATS_PER_S - 1 && per_s < GW_BEATS_PER_S + 1);
    }
}

TEST(six_beats_fit_into_a_silence_that_is_set)
{
    struct gw_heartbeat set = usual;
    set.silence_ns = 3 * BATON_SECOND;
    assert_int_equal(gw_heartbeat_pause_ns(&set, 4096), 500 * BATON_MS);
    assert_int_equal(gw_heartbeat_dead_ns(&set, 500 * BATON_MS), 3 * BATON_SECOND);
    set.silence_ns = BATON_SECOND; /* shorter than six of the options' pauses */
    assert_int_equal(gw_heartbeat_pause_ns(&set, 4096), 250 * BATON_MS);
}

TEST(a_worker_gets_no_longer_pause_than_it_takes)
{
    struct gw_worker worker = {.max_beat_ns = BATON_SECOND}, old = {0};
    assert_int_equal(gw_heartbeat_worker_pause_ns(&usual, 4096, &worker), BATON_SECOND);
    assert_int_equal(gw_heartbeat_worker_pause_ns(&usual, 4096, &old), 250 * BATON_MS);
}

TEST(beats_of_a_large_fleet_are_due_in_bunches_and_never_late)
{
    int64_t pause_ns = gw_heartbeat_pause_ns(&usual, 1000);
    int64_t bunch_ns = pause_ns / GW_BUNCHES_PER_PAUSE;
    for (int64_t now_ns = 0; now_ns < BATON_SECOND; now_ns += 7 * BATON_MS) {
        int64_t due_ns = gw_heartbeat_due_ns(&usual, pause_ns, now_ns);
        assert_int_equal(due_ns % bunch_ns, 0);
        assert_true(due_ns <= now_ns + pause_ns && due_ns > now_ns + pause_ns - bunch_ns);
    }
    assert_int_equal(gw_heartbeat_due_ns(&usual, 250 * BATON_MS, 77), 250 * BATON_MS + 77);
}
