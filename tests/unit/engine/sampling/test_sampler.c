#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/sampling/philox.h"
#include "engine/sampling/sampler.h"
#include "tests/support/random_floats.h"

enum { N_DRAWS = 40000 };

static const float reference_logits[] = {2.0F, -1.5F, 0.3F, 4.2F, -0.8F};

/* Random123's kat_vectors for philox4x32 with 10 rounds. */
TEST(philox_gives_the_known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], random[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < BATON_N_OF(known); i++) {
        uint32_t random[4];
        baton_philox4x32(known[i].counter, known[i].key, random);
        assert_memory_equal(random, known[i].random, sizeof random);
    }
}

TEST(uniforms_depend_on_seed_and_position_and_fill_the_unit_interval)
{
    double sum = 0, least = 1, most = 0;
    assert_true(baton_philox_uniform(1, 2) == baton_philox_uniform(1, 2));
    assert_true(baton_philox_uniform(1, 2) != baton_philox_uniform(2, 1));
    assert_true(baton_philox_uniform(1, 2) != baton_philox_uniform(1, (uint64_t)1 << 32 | 2));
    for (uint64_t i = 0; i < N_DRAWS; i++) {
        double u = baton_philox_uniform(99, i);
        assert_true(u >= 0 && u < 1);
        sum += u;
        least = fmin(least, u);
        most = fmax(most, u);
    }
    assert_true(fabs(sum / N_DRAWS - 0.5) < 0.01 && least < 0.001 && most > 0.999);
}

/* ---- probabilities ---- */

static void assert_probabilities(const float *logits, const struct baton_sampling_params *sampling,
                                 const double wanted[5], double tolerance)
{
    struct baton_sampler *sampler = baton_sampler_create(5);
    struct baton_decision decision;
    assert_non_null(sampler);
    (void)baton_sampler_explain(sampler, logits, sampling, NULL, 0, 5, &decision);
    assert_int_equal(decision.n_candidates, 5);
    for (int i = 0; i < 5; i++)
        assert_true(fabs(decision.candidates[i].prob - wanted[decision.candidates[i].token]) <=
                    tolerance);
    baton_sampler_destroy(sampler);
}

TEST(the_reference_vectors_hold)
{
    const float others[] = {2.1F, -0.5F, 0.3F, 1.2F, -1.0F};
    const double cut[] = {.100, 0, 0, .900, 0};
    struct baton_sampling_params sampling = {BATON_SAMPLING_DEFAULTS};
    assert_probabilities(reference_logits, &sampling, (double[]){.0971, .0029, .0177, .8763, .0059},
                         5e-5);
    assert_probabilities(others, &sampling, (double[]){.5913, .0439, .0977, .2404, .0266}, 5e-5);
    sampling.temperature = 0.7;
    assert_probabilities(reference_logits, &sampling, (double[]){.0412, .0003, .0036, .9542, .0008},
                         5e-5);
    sampling.temperature = 2;
    assert_probabilities(reference_logits, &sampling, (double[]){.2061, .0358, .0881, .6192, .0508},
                         5e-5);
    sampling.temperature = 1;
    sampling.top_k = 2;
    assert_probabilities(reference_logits, &sampling, cut, 5e-4);
    sampling.top_k = 0;
    sampling.top_p = 0.9;
    assert_probabilities(reference_logits, &sampling, cut, 5e-4);
    sampling.temperature = 0;
    assert_probabilities(reference_logits, &sampling, (double[]){.0971, .0029, .0177, .8763, .0059},
                         5e-5);
}

/* Frequencies of N_DRAWS picks at successive positions against probabilities. */
static void assert_distribution(const float *logits, int n_vocab,
                                struct baton_sampling_params sampling, const double *wanted)
{
    struct baton_sampler *sampler = baton_sampler_create(n_vocab);
    int counts[16] = {0};
    assert_non_null(sampler);
    for (uint64_t i = 0; i < N_DRAWS; i++)
        counts[baton_sampler_pick(sampler, logits, &sampling, NULL, i)]++;
    for (int i = 0; i < n_vocab; i++) {
        double deviation = sqrt(N_DRAWS * wanted[i] * (1 - wanted[i]));
        if (wanted[i] > 0)
            assert_true(fabs(counts[i] - N_DRAWS * wanted[i]) < 4.5 * deviation + 2);
        else
            assert_int_equal(counts[i], 0);
    }
    baton_sampler_destroy(sampler);
}

TEST(temperature_one_draws_from_the_softmax)
{
    const struct baton_sampling_params sampling = {
        .temperature = 1, .top_p = 1, .repetition_penalty = 1, .seed = 5};
    assert_distribution(reference_logits, 5, sampling,
                        (double[]){0.0971, 0.0029, 0.0177, 0.8763, 0.0059});
}

TEST(temperature_flattens_the_softmax)
{
    const struct baton_sampling_params sampling = {
        .temperature = 2.5, .top_p = 1, .repetition_penalty = 1, .seed = 6};
    double wanted[5], sum = 0;
    for (int i = 0; i < 5; i++)
        sum += wanted[i] = exp(reference_logits[i] / 2.5);
    for (int i = 0; i < 5; i++)
        wanted[i] /= sum;
    assert_distribution(reference_logits, 5, sampling, wanted);
}

TEST(top_k_two_keeps_the_two_highest)
{
    const struct baton_sampling_params sampling = {
        .temperature = 1, .top_k = 2, .top_p = 1, .repetition_penalty = 1, .seed = 7};
    assert_distribution(reference_logits, 5, sampling, (double[]){0.100, 0, 0, 0.900, 0});
}

TEST(top_p_keeps_the_smallest_set_that_reaches_it)
{
    struct baton_sampling_params sampling = {
        .temperature = 1, .top_p = 0.9, .repetition_penalty = 1, .seed = 8};
    assert_distribution(reference_logits, 5, sampling, (double[]){0.100, 0, 0, 0.900, 0});
    sampling.top_p = 0.87;
    assert_distribution(reference_logits, 5, sampling, (double[]){0, 0, 0, 1, 0});
    for (int i = 0; i < 2; i++) {
        sampling.top_p = (double[]){1e-9, 0}[i];
        assert_distribution(reference_logits, 5, sampling, (double[]){0, 0, 0, 1, 0});
    }
}

TEST(top_p_counts_only_what_top_k_kept)
{
    const struct baton_sampling_params sampling = {
        .temperature = 1, .top_k = 3, .top_p = 0.985, .repetition_penalty = 1, .seed = 9};
    const float logits[] = {0, 0, 0, 0};
    const double third = 1.0 / 3;
    assert_distribution(reference_logits, 5, sampling,
                        (double[]){0.0980, 0, 0.0179, 0.8841, 0}); /* 0.9821 < 0.985 */
    /* Ties at the k-th are all kept; within top-p the lower id comes first. */
    assert_distribution(logits, 4,
                        (struct baton_sampling_params){
                            .temperature = 1, .top_k = 1, .top_p = 0.75, .repetition_penalty = 1},
                        (double[]){third, third, third, 0});
}

TEST(min_p_drops_what_is_far_below_the_highest)
{
    const float logits[] = {1, 3, -2, 3, 2};
    const double e1 = exp(-1), sum = 2 + e1;
    assert_distribution(logits, 5,
                        (struct baton_sampling_params){
                            .temperature = 1, .top_p = 1, .min_p = 0.2, .repetition_penalty = 1},
                        (double[]){0, 1 / sum, 0, 1 / sum, e1 / sum});
    assert_distribution(logits, 5,
                        (struct baton_sampling_params){
                            .temperature = 1, .top_p = 1, .min_p = 1, .repetition_penalty = 1},
                        (double[]){0, 0.5, 0, 0.5, 0});
}

TEST(ties_at_the_kth_are_kept)
{
    const float logits[] = {1, 3, 1, 1, 0};
    const double e2 = exp(-2), sum = 1 + 3 * e2;
    assert_distribution(logits, 5,
                        (struct baton_sampling_params){
                            .temperature = 1, .top_k = 2, .top_p = 1, .repetition_penalty = 1},
                        (double[]){e2 / sum, 1 / sum, e2 / sum, e2 / sum, 0});
}

TEST(greedy_takes_the_lowest_id_of_equal_logits)
{
    const float logits[] = {-1, 5, 2, 5, 5}, low[] = {-INFINITY, -3, -INFINITY, NAN, -3};
    const struct baton_sampling_params greedy = {
        .temperature = 0, .top_p = 1, .repetition_penalty = 1};
    struct baton_sampler *sampler = baton_sampler_create(5);
    assert_int_equal(baton_sampler_pick(sampler, logits, &greedy, NULL, 0), 1);
    assert_int_equal(baton_sampler_pick(sampler, low, &greedy, NULL, 0), 1);
    baton_sampler_destroy(sampler);
}

TEST(nan_logits_are_never_chosen_while_others_are_possible)
{
    const float some[] = {NAN, 0, NAN, 0}, none[] = {NAN, NAN, NAN, NAN};
    const struct baton_sampling_params sampling = {
        .temperature = 1, .top_k = 3, .top_p = 0.99, .repetition_penalty = 1, .seed = 1};
    struct baton_sampler *sampler = baton_sampler_create(4);
    assert_distribution(some, 4, sampling, (double[]){0, 0.5, 0, 0.5});
    assert_int_equal(baton_sampler_pick(sampler, none, &sampling, NULL, 3), 0);
    baton_sampler_destroy(sampler);
}

TEST(extreme_temperatures_and_logits_stay_sane)
{
    const float logits[] = {-3e38F, 3e38F, 0, -INFINITY}, infinite[] = {0, INFINITY, 1, 2};
    const double temperatures[] = {1e-30, 1, 100};
    struct baton_sampler *sampler = baton_sampler_create(4);
    for (int i = 0; i < 3; i++) {
        const struct baton_sampling_params sampling = {
            .temperature = temperatures[i], .top_p = 0.5, .repetition_penalty = 1};
        assert_int_equal(baton_sampler_pick(sampler, logits, &sampling, NULL, 7), 1);
        assert_int_equal(baton_sampler_pick(sampler, infinite, &sampling, NULL, 7), 1);
    }
    baton_sampler_destroy(sampler);
}

/* ---- bias and penalties ---- */

struct penalized_row {
    float logits[BATON_MAX_LISTED];
};

/* A row after penalties; tokens 0 and 1 are in the prompt, 1 and 2 were generated four times, and
 * so were two that no vocabulary has. */
static struct penalized_row penalize(const float *logits, int n_vocab,
                                     const struct baton_sampling_params *sampling)
{
    const uint32_t prompt[] = {0, 1, 1, 1000}, output[] = {1, 2, UINT32_MAX};
    struct baton_sampler *sampler = baton_sampler_create(n_vocab);
    struct baton_history history;
    struct baton_decision decision;
    struct penalized_row row = {{0}};
    assert_non_null(sampler);
    assert_ok(baton_history_init(&history, 8));
    baton_history_add_prompt(&history, prompt, 4);
    for (int i = 0; i < 12; i++)
        baton_history_add_output(&history, output[i % 3]);
    (void)baton_sampler_explain(sampler, logits, sampling, &history, 0, n_vocab, &decision);
    assert_int_equal(decision.n_candidates, n_vocab);
    for (int i = 0; i < n_vocab; i++)
        row.logits[decision.candidates[i].token] = decision.candidates[i].logit_penalized;
    baton_history_fini(&history);
    baton_sampler_destroy(sampler);
    return row;
}

TEST(presence_and_frequency_penalties_apply_to_output_only)
{
    const float logits[] = {3, 3, -1, 3};
    const struct baton_sampling_params sampling = {
        .top_p = 1, .repetition_penalty = 1, .presence_penalty = 0.2, .frequency_penalty = 0.1};
    struct penalized_row row = penalize(logits, 4, &sampling);
    assert_true(row.logits[0] == 3 && row.logits[3] == 3);
    assert_true(row.logits[1] == 2.4F && row.logits[2] == (float)(-1 - 0.6));
}

TEST(repetition_divides_positive_logits_and_multiplies_others)
{
    const float logits[] = {3, -3, 0, 3};
    const struct baton_sampling_params sampling = {.top_p = 1, .repetition_penalty = 2};
    struct penalized_row row = penalize(logits, 4, &sampling);
    assert_true(row.logits[0] == 1.5F && row.logits[1] == -6 && row.logits[2] == 0);
    assert_true(row.logits[3] == 3);
}

TEST(bias_comes_before_penalties_and_ignores_ids_past_the_vocabulary)
{
    const float logits[] = {1, -3, 0, 3};
    struct baton_logit_bias bias[] = {{3, -100}, {0, 4}, {1, 5}, {4, 9}, {UINT32_MAX, 9}};
    const struct baton_sampling_params sampling = {
        .top_p = 1, .repetition_penalty = 2, .bias = bias, .n_bias = 5};
    struct penalized_row row = penalize(logits, 4, &sampling);
    assert_true(row.logits[0] == 2.5F && row.logits[1] == 1 && row.logits[2] == 0);
    assert_true(row.logits[3] == -97);
}

TEST(penalties_leave_the_callers_row_alone)
{
    float logits[] = {1, 1, 1, 1};
    struct baton_logit_bias bias = {2, 7};
    const struct baton_sampling_params sampling = {
        .top_p = 1, .repetition_penalty = 3, .bias = &bias, .n_bias = 1};
    struct baton_sampler *sampler = baton_sampler_create(4);
    assert_int_equal(baton_sampler_pick(sampler, logits, &sampling, NULL, 0), 2);
    for (int i = 0; i < 4; i++)
        assert_true(logits[i] == 1);
    baton_sampler_destroy(sampler);
}

TEST(extreme_penalties_never_give_nan)
{
    const float logits[] = {INFINITY, 3e38F, -3e38F, 0, -INFINITY, NAN, 1, -1};
    const double extremes[] = {1e-300, 1, 1e300}, added[] = {-1e300, 0, 1e300};
    for (int i = 0; i < 27; i++) {
        const struct baton_sampling_params sampling = {.temperature = i % 2,
                                                       .top_p = 0.9,
                                                       .repetition_penalty = extremes[i % 3],
                                                       .presence_penalty = added[i / 3 % 3],
                                                       .frequency_penalty = 1e8 * added[i / 9]};
        for (int shift = 0; shift < 8; shift++) {
            float rotated[8];
            for (int k = 0; k < 8; k++)
                rotated[k] = logits[(k + shift) % 8];
            struct penalized_row row = penalize(rotated, 8, &sampling);
            for (int k = 0; k < 8; k++) {
                assert_false(isnan(row.logits[k]));
                if (rotated[k] == -INFINITY || isnan(rotated[k]))
                    assert_true(row.logits[k] == -INFINITY);
            }
        }
    }
}

TEST(greedy_chooses_by_penalized_logits)
{
    const float logits[] = {1, 1.5F, 1.2F};
    const struct baton_sampling_params sampling = {
        .top_p = 1, .repetition_penalty = 1, .frequency_penalty = 0.4};
    struct baton_sampler *sampler = baton_sampler_create(3);
    struct baton_history history;
    const uint32_t wanted[] = {1, 2, 1, 0, 2};
    assert_ok(baton_history_init(&history, 3));
    for (int i = 0; i < 5; i++) {
        uint32_t id = baton_sampler_pick(sampler, logits, &sampling, &history, (uint64_t)i);
        assert_int_equal(id, wanted[i]);
        baton_history_add_output(&history, id);
    }
    baton_history_fini(&history);
    baton_sampler_destroy(sampler);
}

TEST(a_pick_depends_on_seed_and_position_only)
{
    const struct baton_sampling_params sampling = {
        .temperature = 1, .top_k = 400, .top_p = 0.9, .repetition_penalty = 1, .seed = 3};
    float *logits = random_floats(1000, 4);
    struct baton_sampler *sampler = baton_sampler_create(1000), *other = baton_sampler_create(1000);
    for (uint64_t i = 0; i < 50; i++)
        assert_int_equal(baton_sampler_pick(sampler, logits, &sampling, NULL, i),
                         baton_sampler_pick(other, logits, &sampling, NULL, i));
    assert_int_equal(baton_sampler_pick(sampler, logits, &sampling, NULL, 12),
                     baton_sampler_pick(other, logits, &sampling, NULL, 12));
    baton_sampler_destroy(sampler);
    baton_sampler_destroy(other);
    free(logits);
}
