#include <stdlib.h>

#include "tests/support/test.h"
#include "tools/load/workload/rng.h"
#include "tools/plan/simulate/event_queue.h"

TEST(events_come_in_order_of_time_then_of_adding)
{
    enum { N = 5000 };
    struct sim_events events = {0};
    struct sim_event before = {.at_ns = -1}, event;
    struct ld_rng rng = ld_rng(1, LD_STREAM_REQUEST, 0);
    for (int i = 0; i < N; i++)
        sim_events_add(&events, ld_rng_between(&rng, 0, 99), SIM_DUE, NULL, (uint32_t)i);
    for (int i = 0; i < N; i++) {
        assert_true(sim_events_take(&events, &event));
        assert_true(event.at_ns > before.at_ns ||
                    (event.at_ns == before.at_ns && event.stamp > before.stamp));
        before = event;
    }
    assert_false(sim_events_take(&events, &event));
    sim_events_fini(&events);
}

TEST(an_event_added_meanwhile_runs_in_its_turn)
{
    struct sim_events events = {0};
    struct sim_event event;
    int64_t now_ns = 0;
    for (int i = 0; i < 10; i++)
        sim_events_add(&events, 10 * i, SIM_DUE, NULL, 0);
    for (int i = 0; i < 100; i++) {
        assert_true(sim_events_take(&events, &event));
        assert_true(event.at_ns >= now_ns);
        now_ns = event.at_ns;
        sim_events_add(&events, now_ns + 1 + 7 * i % 40, SIM_DUE, NULL, 0);
    }
    assert_int_equal(events.n, 10);
    sim_events_fini(&events);
}
