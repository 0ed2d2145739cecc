#include "tests/support/test.h"

#include <math.h>

#include "engine/sampling/sampler.h"

/* ---- what a filter leaves ---- */

enum { MAX_VOCAB = 1 + 64, N_TAIL = 64 };

static struct baton_sampling_params plain(void)
{
    return (struct baton_sampling_params){BATON_SAMPLING_DEFAULTS};
}

struct left {
    uint64_t ids; /* a bit for each of the first 64 that is kept */
    uint32_t n_after[BATON_N_FILTERS], token;
    enum baton_removal highest; /* what removed the highest */
};

/* mask: of allowed tokens, 0 for all. */
static struct left run(const float *logits, int n_vocab, const struct baton_sampling_params *params,
                       uint64_t mask)
{
    struct baton_sampler *sampler = baton_sampler_create(n_vocab);
    struct baton_decision decision;
    struct left left = {0};
    const uint64_t words[2] = {mask, 0};
    assert_non_null(sampler);
    baton_sampler_allow(sampler, mask ? words : NULL, false);
    (void)baton_sampler_explain(sampler, logits, params, NULL, 5, BATON_MAX_LISTED, &decision);
    assert_int_equal(decision.chosen.removed_by, BATON_KEPT);
    for (int i = 0; i < decision.n_candidates; i++)
        if (decision.candidates[i].removed_by == BATON_KEPT && decision.candidates[i].token < 64)
            left.ids |= (uint64_t)1 << decision.candidates[i].token;
    for (int i = 0; i < BATON_N_FILTERS; i++)
        left.n_after[i] = decision.n_after[i];
    left.token = decision.chosen.token;
    left.highest = decision.candidates[0].removed_by;
    assert_int_equal(baton_sampler_pick(sampler, logits, params, NULL, 5), left.token);
    baton_sampler_destroy(sampler);
    return left;
}

static uint32_t n_after(const struct left *left, enum baton_removal removal)
{
    return left->n_after[removal - BATON_FIRST_FILTER];
}

/* ---- top-n-sigma ---- */

static uint64_t within(const float *logits, int n_vocab, double n_sigma)
{
    struct baton_sampling_params params = plain();
    params.top_n_sigma = n_sigma;
    return run(logits, n_vocab, &params, 0).ids;
}

TEST(top_n_sigma_keeps_logits_within_n_deviations_of_the_highest)
{
    const float logits[] = {-1, 3, -3, 1}; /* deviation 2.236 */
    assert_int_equal(within(logits, 4, 0.8), 0x2);
    assert_int_equal(within(logits, 4, 1), 0xa);
    assert_int_equal(within(logits, 4, 2), 0xb);
    assert_int_equal(within(logits, 4, 3), 0xf);
}

TEST(top_n_sigma_is_off_at_0_and_below)
{
    const float logits[] = {-1, 30, -3, 1};
    assert_int_equal(within(logits, 4, 0), 0xf);
    assert_int_equal(within(logits, 4, -1), 0xf);
}

TEST(a_logit_at_the_border_of_top_n_sigma_is_kept)
{
    const float logits[] = {2, -2}; /* deviation 2 */
    assert_int_equal(within(logits, 2, 2), 0x3);
    assert_int_equal(within(logits, 2, nextafter(2, 0)), 0x1);
}

TEST(top_n_sigma_keeps_what_equals_the_highest)
{
    const float flat[] = {1.1F, 1.1F, 1.1F}, two[] = {5, 1, 5};
    assert_int_equal(within(flat, 3, 1e-300), 0x7);
    assert_int_equal(within(two, 3, 1e-300), 0x5);
    assert_int_equal(within(flat, 1, 1), 0x1);
}

TEST(top_n_sigma_counts_finite_logits_only)
{
    const float low[] = {3, -INFINITY, 1, NAN}, high[] = {1, INFINITY, 2};
    assert_int_equal(within(low, 4, 1.9), 0x1); /* deviation 1 */
    assert_int_equal(within(low, 4, 2), 0x5);
    assert_int_equal(within(low, 4, 1e308), 0x5);
    assert_int_equal(within(high, 3, 5), 0x2);
    assert_int_equal(within(high, 3, 1e308), 0x2);
}

TEST(top_n_sigma_counts_tokens_that_a_mask_allows)
{
    const float logits[] = {3, 2, -50, 100}; /* deviation of the first two: 0.5 */
    struct baton_sampling_params params = plain();
    params.top_n_sigma = 1;
    struct left left = run(logits, 4, &params, 0x3);
    assert_int_equal(left.ids, 0x1);
    assert_int_equal(left.highest, BATON_REMOVED_BY_GRAMMAR);
    params.top_n_sigma = 2;
    assert_int_equal(run(logits, 4, &params, 0x3).ids, 0x3);
}

TEST(no_temperature_changes_what_top_n_sigma_keeps)
{
    const float logits[] = {0.5F, 3, -3, 1, 2.9F};
    const double temperatures[] = {1e-3, 0.7, 1, 100};
    for (int i = 0; i < 4; i++) {
        struct baton_sampling_params params = plain();
        params.temperature = temperatures[i];
        params.top_n_sigma = 1;
        struct left left = run(logits, 5, &params, 0);
        assert_int_equal(n_after(&left, BATON_REMOVED_BY_TOP_N_SIGMA), 3);
    }
}

/* ---- typical-p ---- */

/* Token 0 has 0.4 of the probability, 64 others have 0.6 together. They are the typical ones: their
 * information is closer to the entropy. */
static void fill_typical(float *logits)
{
    logits[0] = (float)log(0.4);
    for (int i = 1; i <= N_TAIL; i++)
        logits[i] = (float)log(0.6 / N_TAIL);
}

TEST(typical_p_may_remove_the_most_probable_token)
{
    float logits[MAX_VOCAB];
    struct baton_sampling_params params = plain();
    fill_typical(logits);
    for (int i = 0; i < 4; i++) {
        params.typical_p = (const double[]){1e-300, 0.01, 0.3, 0.59}[i];
        struct left left = run(logits, MAX_VOCAB, &params, 0);
        assert_int_equal(left.highest, BATON_REMOVED_BY_TYPICAL_P);
        assert_int_equal(n_after(&left, BATON_REMOVED_BY_TYPICAL_P), N_TAIL); /* ties */
        assert_int_not_equal(left.token, 0);
    }
    params.typical_p = 0.61;
    struct left left = run(logits, MAX_VOCAB, &params, 0);
    assert_int_equal(n_after(&left, BATON_REMOVED_BY_TYPICAL_P), MAX_VOCAB);
}

TEST(filters_after_typical_p_read_what_it_kept)
{
    float logits[MAX_VOCAB];
    struct baton_sampling_params params = plain();
    fill_typical(logits);
    params.typical_p = 0.3;
    params.min_p = 1; /* of the highest that is left */
    params.top_p = 0.5;
    struct left left = run(logits, MAX_VOCAB, &params, 0);
    assert_int_equal(n_after(&left, BATON_REMOVED_BY_TOP_P), N_TAIL / 2);
    assert_int_equal(n_after(&left, BATON_REMOVED_BY_MIN_P), N_TAIL / 2);
    assert_true(left.token >= 1 && left.token <= N_TAIL / 2); /* the lowest ids of equals */
}

TEST(typical_p_reads_logits_after_mask_and_temperature)
{
    float logits[MAX_VOCAB];
    struct baton_sampling_params params = plain();
    fill_typical(logits);
    params.typical_p = 1e-9;
    assert_int_equal(run(logits, MAX_VOCAB, &params, 0xffff).ids, 0x1); /* 0.4 to 0.14 */
    assert_int_equal(run(logits, MAX_VOCAB, &params, 0xfffe).token & ~0xfU, 0);
    params.temperature = 0.5;
    assert_int_equal(run(logits, MAX_VOCAB, &params, 0).ids, 0x1);
}

TEST(typical_p_is_off_at_1_and_in_params_that_do_not_name_it)
{
    float logits[MAX_VOCAB];
    struct baton_sampling_params params = {.temperature = 1, .top_p = 1, .repetition_penalty = 1};
    fill_typical(logits);
    struct left left = run(logits, MAX_VOCAB, &params, 0);
    assert_int_equal(n_after(&left, BATON_REMOVED_BY_TYPICAL_P), MAX_VOCAB);
    params.typical_p = 1;
    left = run(logits, MAX_VOCAB, &params, 0);
    assert_int_equal(n_after(&left, BATON_REMOVED_BY_TYPICAL_P), MAX_VOCAB);
}

TEST(odd_logits_leave_typical_p_something)
{
    const float infinite[] = {3, INFINITY, 1, INFINITY}, low[] = {NAN, -INFINITY, 7, NAN};
    const float far[] = {3e38F, -3e38F, 0};
    struct baton_sampling_params params = plain();
    for (double p = 1e-6; p < 1; p += 0.111) {
        params.typical_p = p;
        assert_int_equal(run(infinite, 4, &params, 0).ids, 0xa);
        assert_int_equal(run(low, 4, &params, 0).ids, 0x4);
        assert_int_equal(run(far, 3, &params, 0).ids, 0x1);
        assert_int_equal(run(far, 1, &params, 0).ids, 0x1);
    }
}

TEST(a_greedy_choice_is_not_filtered)
{
    float logits[MAX_VOCAB];
    struct baton_sampling_params params = plain();
    fill_typical(logits);
    params.temperature = 0;
    params.typical_p = 0.1;
    params.top_n_sigma = 0.1;
    struct left left = run(logits, MAX_VOCAB, &params, 0);
    assert_int_equal(left.token, 0);
    for (int i = 0; i < BATON_N_FILTERS; i++)
        assert_int_equal(left.n_after[i], MAX_VOCAB);
}
