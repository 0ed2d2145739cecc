#include "tests/support/test.h"

#include <math.h>

#include "common/capacity/capacity.h"

/* 1000 prompt tokens a second and 1000 output tokens a second of each worker, at their best. */
static const struct baton_fleet fleet = {
    .prefill = {.base_s = 0.064, .per_row_s = 0.0005, .max_rows = 128},
    .decode = {.base_s = 0.008, .per_row_s = 0.0005, .max_rows = 16},
    .n_prefill = 1,
    .n_decode = 2};

static struct baton_advice advise(double rate_per_s, double prompt_tokens, double output_tokens)
{
    return baton_capacity_advise(&fleet, &(struct baton_workload){.rate_per_s = rate_per_s,
                                                                  .prompt_tokens = prompt_tokens,
                                                                  .output_tokens = output_tokens});
}

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g is not %.17g", got, expected);
}

TEST(utilisation_is_the_work_that_arrives_by_the_workers)
{
    struct baton_advice advice = advise(2, 200, 101);
    assert_near(advice.prefill_utilisation, 0.4);
    assert_near(advice.decode_utilisation, 0.1);
    assert_int_equal(advice.shortage, BATON_SHORT_NONE);
}

TEST(long_prompts_make_prefill_short_and_long_answers_decode)
{
    assert_int_equal(advise(2, 450, 2).shortage, BATON_SHORT_PREFILL);
    assert_int_equal(advise(2, 10, 901).shortage, BATON_SHORT_DECODE);
    assert_int_equal(advise(2, 450, 901).shortage, BATON_SHORT_BOTH);
}

TEST(the_ratio_balances_and_the_layout_is_the_least_that_holds)
{
    struct baton_advice advice = advise(4, 500, 951); /* 2 and 3.8 workers' worth */
    assert_near(advice.ratio, 2 / 3.8);
    assert_near(advice.n_prefill, 3);
    assert_near(advice.n_decode, 5);
    advice = advise(0.001, 1, 2);
    assert_near(advice.n_prefill, 1);
    assert_near(advice.n_decode, 1);
}

TEST(the_ratio_does_not_depend_on_the_rate)
{
    assert_near(advise(0.1, 300, 61).ratio, advise(50, 300, 61).ratio);
}

TEST(answers_of_one_token_need_no_decode)
{
    struct baton_advice advice = advise(1, 100, 1);
    assert_near(advice.decode_utilisation + 1, 1);
    assert_true(isnan(advice.ratio));
    assert_int_equal(advice.shortage, BATON_SHORT_NONE);
}

TEST(unknown_figures_are_said_to_be_unknown)
{
    struct baton_fleet unknown = fleet, empty = fleet;
    const struct baton_workload workload = {1, 100, 0, 100};
    unknown.prefill = (struct baton_stage_cost){.max_rows = 1};
    empty.n_decode = 0;
    struct baton_advice advice = baton_capacity_advise(&unknown, &workload);
    assert_int_equal(advice.shortage, BATON_SHORT_UNKNOWN);
    assert_true(isnan(advice.prefill_utilisation) && isnan(advice.n_prefill));
    assert_false(isnan(advice.decode_utilisation));
    advice = baton_capacity_advise(&empty, &workload);
    assert_int_equal(advice.shortage, BATON_SHORT_UNKNOWN);
    assert_near(advice.n_decode, 1);
    assert_string_equal(baton_shortage_name(advice.shortage), "unknown");
}
