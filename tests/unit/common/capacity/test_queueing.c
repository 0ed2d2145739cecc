#include "tests/support/test.h"

#include <math.h>

#include "common/capacity/queueing.h"

static const struct baton_fleet fleet = {
    .prefill = {.base_s = 0, .per_row_s = 0.001, .max_rows = 128},
    .decode = {.base_s = 0.009, .per_row_s = 0.001, .max_rows = 16},
    .n_prefill = 1,
    .n_decode = 1};

static void assert_near(double got, double expected, double part)
{
    if (!(fabs(got - expected) <= part * fabs(expected)))
        fail_msg("%.17g is not %.17g", got, expected);
}

TEST(erlangs_formula_gives_the_textbooks_figures)
{
    assert_near(baton_queueing_erlang_c(1, 0.6), 0.6, 1e-12);
    assert_near(baton_queueing_erlang_c(2, 1), 1.0 / 3, 1e-12);
    assert_near(baton_queueing_erlang_c(10, 8), 0.40918, 1e-4);
    assert_true(baton_queueing_erlang_c(1000, 900) < 0.01);
    assert_true(baton_queueing_erlang_c(3, 3) == 1);
}

/* M/D/1 and M/M/1 at a load of 0.5: half a service time, and one. */
TEST(one_worker_is_pollaczek_and_khinchines_queue)
{
    struct baton_workload workload = {.rate_per_s = 5, .prompt_tokens = 100, .output_tokens = 2};
    struct baton_estimate fixed = baton_queueing_estimate(&fleet, &workload);
    assert_near(fixed.wait_s, 0.05, 1e-9);
    assert_near(fixed.ttft_s, 0.15, 1e-9);
    assert_true(fixed.ttft_p99_s > fixed.ttft_s);
    workload.prompt_cv = 1;
    assert_near(baton_queueing_estimate(&fleet, &workload).wait_s, 0.1, 1e-9);
}

TEST(sequences_obey_littles_law)
{
    const struct baton_workload workload = {
        .rate_per_s = 2, .prompt_tokens = 1, .output_tokens = 101};
    struct baton_estimate estimate = baton_queueing_estimate(&fleet, &workload);
    assert_near(estimate.sequences, 200 * estimate.itl_s, 1e-9); /* 200 steps a second of them */
    assert_near(estimate.itl_s, 0.009 + 0.001 * (estimate.sequences + 1), 1e-9);
    assert_true(estimate.itl_p99_s > estimate.itl_s);
}

TEST(no_tail_is_below_its_mean)
{
    struct baton_fleet spread = fleet;
    struct baton_workload workload = {.prompt_tokens = 100, .output_tokens = 100};
    for (int n = 1; n <= 8; n++)
        for (double rate = 0.01; rate < 60; rate *= 1.5) {
            spread.n_prefill = spread.n_decode = n;
            workload.rate_per_s = rate;
            struct baton_estimate estimate = baton_queueing_estimate(&spread, &workload);
            assert_false(estimate.ttft_p99_s < estimate.ttft_s); /* NaN: overloaded */
            assert_false(estimate.itl_p99_s < estimate.itl_s);
        }
}

TEST(an_idle_fleet_takes_what_the_work_takes)
{
    const struct baton_workload workload = {
        .rate_per_s = 1e-6, .prompt_tokens = 300, .output_tokens = 50};
    struct baton_fleet based = fleet;
    based.prefill.base_s = 0.01; /* of each of its three passes */
    struct baton_estimate estimate = baton_queueing_estimate(&based, &workload);
    assert_near(estimate.ttft_s, 0.33, 1e-4);
    assert_near(estimate.ttft_p99_s, 0.33, 1e-4);
    assert_near(estimate.itl_s, 0.010, 1e-3);
}

TEST(a_load_that_is_too_much_has_no_estimate)
{
    const struct baton_workload prompts = {
        .rate_per_s = 10, .prompt_tokens = 100, .output_tokens = 2};
    const struct baton_workload answers = {
        .rate_per_s = 10, .prompt_tokens = 10, .output_tokens = 101};
    struct baton_estimate estimate = baton_queueing_estimate(&fleet, &prompts);
    assert_true(isnan(estimate.ttft_s) && isnan(estimate.wait_s) && !isnan(estimate.itl_s));
    estimate = baton_queueing_estimate(&fleet, &answers);
    assert_true(isnan(estimate.itl_s) && isnan(estimate.sequences) && !isnan(estimate.ttft_s));
}

TEST(more_workers_wait_less_at_the_same_utilisation)
{
    struct baton_workload workload = {.rate_per_s = 8, .prompt_tokens = 100, .output_tokens = 2};
    struct baton_fleet more = fleet;
    double one = baton_queueing_estimate(&fleet, &workload).wait_s;
    more.n_prefill = 4;
    workload.rate_per_s = 32;
    double four = baton_queueing_estimate(&more, &workload).wait_s;
    assert_true(four < one / 4 && four > 0);
}
