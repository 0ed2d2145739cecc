#include "tests/support/test.h"

#include <math.h>

#include "common/base/clock.h"
#include "gateway/observe/arrivals.h"

/* Requests of that kind, one every gap_s, from *now_ns on. */
static void ask(struct gw_arrivals *arrivals, int n, double gap_s, double n_prompt, double n_output,
                int64_t *now_ns)
{
    for (int i = 0; i < n; i++) {
        gw_arrivals_arrived(arrivals, *now_ns);
        gw_arrivals_prompt(arrivals, n_prompt, *now_ns);
        gw_arrivals_finished(arrivals, n_output, n_prompt + n_output, *now_ns);
        *now_ns += (int64_t)(gap_s * (double)BATON_SECOND);
    }
}

static void assert_near(double got, double expected, double part)
{
    if (!(fabs(got - expected) <= part * expected))
        fail_msg("%g is not %g", got, expected);
}

TEST(a_few_requests_are_no_workload)
{
    struct gw_arrivals arrivals = {0};
    struct gw_arrivals_mean mean = {.rate_per_s = -1};
    int64_t now_ns = BATON_SECOND;
    assert_false(gw_arrivals_mean(&arrivals, now_ns, &mean));
    ask(&arrivals, 5, 0.1, 100, 10, &now_ns);
    assert_false(gw_arrivals_mean(&arrivals, now_ns, &mean));
    assert_true(mean.rate_per_s == -1);
}

TEST(a_steady_rate_is_known_early_and_stays)
{
    struct gw_arrivals arrivals = {0};
    struct gw_arrivals_mean mean;
    int64_t now_ns = BATON_SECOND;
    for (int i = 0; i < 20; i++) {
        ask(&arrivals, 40, 0.1, 100, 10, &now_ns);
        assert_true(gw_arrivals_mean(&arrivals, now_ns, &mean));
        assert_near(mean.rate_per_s, 10, 0.01);
        assert_near(mean.prefill_tokens, 100, 1e-9);
        assert_near(mean.output_tokens, 10, 1e-9);
        assert_near(mean.context_tokens, 110, 1e-9);
    }
}

TEST(a_change_of_minutes_ago_is_seen)
{
    struct gw_arrivals arrivals = {0};
    struct gw_arrivals_mean mean;
    int64_t now_ns = BATON_SECOND;
    ask(&arrivals, 600, 0.1, 500, 10, &now_ns);
    ask(&arrivals, 300, 0.5, 20, 200, &now_ns);
    assert_true(gw_arrivals_mean(&arrivals, now_ns, &mean));
    assert_near(mean.rate_per_s, 2, 0.05);
    assert_near(mean.prefill_tokens, 20, 0.8);
    assert_near(mean.output_tokens, 200, 0.05);
}

TEST(a_quiet_while_is_forgotten_to_nothing)
{
    struct gw_arrivals arrivals = {0};
    struct gw_arrivals_mean mean;
    int64_t now_ns = BATON_SECOND;
    ask(&arrivals, 100, 0.1, 100, 10, &now_ns);
    now_ns += 10 * BATON_SECOND;
    assert_true(gw_arrivals_mean(&arrivals, now_ns, &mean));
    assert_true(mean.rate_per_s < 10);
    assert_near(mean.prefill_tokens, 100, 1e-9);
    now_ns += 3600 * BATON_SECOND;
    assert_false(gw_arrivals_mean(&arrivals, now_ns, &mean));
}
