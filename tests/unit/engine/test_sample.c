#include "tests/unit/engine/unit.h"

#include "common/engine/philox.h"

enum { N_DRAWS = 40000 };

static const float reference_logits[] = {2.0F, -1.5F, 0.3F, 4.2F, -0.8F};

/* Random123's kat_vectors for philox4x32 with 10 rounds. */
static void philox_gives_the_known_answers(void **state)
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
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t random[4];
        baton_philox4x32(known[i].counter, known[i].key, random);
        assert_memory_equal(random, known[i].random, sizeof random);
    }
}

static void uniforms_depend_on_seed_and_position_and_fill_the_unit_interval(void **state)
{
    double sum = 0, least = 1, most = 0;
    (void)state;
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

/* Frequencies of N_DRAWS picks at successive positions against probabilities. */
static void assert_distribution(const float *logits, int n_vocab, struct baton_sampling sampling,
                                const double *wanted)
{
    struct baton_sampler *sampler = baton_sampler_create(n_vocab);
    int counts[16] = {0};
    assert_non_null(sampler);
    for (uint64_t i = 0; i < N_DRAWS; i++)
        counts[baton_sampler_pick(sampler, logits, &sampling, i)]++;
    for (int i = 0; i < n_vocab; i++) {
        double deviation = sqrt(N_DRAWS * wanted[i] * (1 - wanted[i]));
        if (wanted[i] > 0)
            assert_true(fabs(counts[i] - N_DRAWS * wanted[i]) < 4.5 * deviation + 2);
        else
            assert_int_equal(counts[i], 0);
    }
    baton_sampler_destroy(sampler);
}

static void temperature_one_draws_from_the_softmax(void **state)
{
    const struct baton_sampling sampling = {.temperature = 1, .top_p = 1, .seed = 5};
    (void)state;
    assert_distribution(reference_logits, 5, sampling,
                        (double[]){0.0971, 0.0029, 0.0177, 0.8763, 0.0059});
}

static void temperature_flattens_the_softmax(void **state)
{
    const struct baton_sampling sampling = {.temperature = 2.5, .top_p = 1, .seed = 6};
    double wanted[5], sum = 0;
    (void)state;
    for (int i = 0; i < 5; i++)
        sum += wanted[i] = exp(reference_logits[i] / 2.5);
    for (int i = 0; i < 5; i++)
        wanted[i] /= sum;
    assert_distribution(reference_logits, 5, sampling, wanted);
}

static void top_k_two_keeps_the_two_highest(void **state)
{
    const struct baton_sampling sampling = {.temperature = 1, .top_k = 2, .top_p = 1, .seed = 7};
    (void)state;
    assert_distribution(reference_logits, 5, sampling, (double[]){0.100, 0, 0, 0.900, 0});
}

static void top_p_keeps_the_smallest_set_that_reaches_it(void **state)
{
    struct baton_sampling sampling = {.temperature = 1, .top_p = 0.9, .seed = 8};
    (void)state;
    assert_distribution(reference_logits, 5, sampling, (double[]){0.100, 0, 0, 0.900, 0});
    sampling.top_p = 0.87;
    assert_distribution(reference_logits, 5, sampling, (double[]){0, 0, 0, 1, 0});
    sampling.top_p = 1e-9;
    assert_distribution(reference_logits, 5, sampling, (double[]){0, 0, 0, 1, 0});
}

static void top_p_counts_only_what_top_k_kept(void **state)
{
    const struct baton_sampling sampling = {
        .temperature = 1, .top_k = 3, .top_p = 0.985, .seed = 9};
    const float logits[] = {0, 0, 0, 0};
    const double third = 1.0 / 3;
    (void)state;
    assert_distribution(reference_logits, 5, sampling,
                        (double[]){0.0980, 0, 0.0179, 0.8841, 0}); /* 0.9821 < 0.985 */
    /* Ties at the k-th are all kept; within top-p the lower id comes first. */
    assert_distribution(logits, 4,
                        (struct baton_sampling){.temperature = 1, .top_k = 1, .top_p = 0.75},
                        (double[]){third, third, third, 0});
}

static void ties_at_the_kth_are_kept(void **state)
{
    const float logits[] = {1, 3, 1, 1, 0};
    const double e2 = exp(-2), sum = 1 + 3 * e2;
    (void)state;
    assert_distribution(logits, 5,
                        (struct baton_sampling){.temperature = 1, .top_k = 2, .top_p = 1},
                        (double[]){e2 / sum, 1 / sum, e2 / sum, e2 / sum, 0});
}

static void greedy_takes_the_lowest_id_of_equal_logits(void **state)
{
    const float logits[] = {-1, 5, 2, 5, 5}, low[] = {-INFINITY, -3, -INFINITY, NAN, -3};
    const struct baton_sampling greedy = {.temperature = 0, .top_p = 1};
    struct baton_sampler *sampler = baton_sampler_create(5);
    (void)state;
    assert_int_equal(baton_sampler_pick(sampler, logits, &greedy, 0), 1);
    assert_int_equal(baton_sampler_pick(sampler, low, &greedy, 0), 1);
    baton_sampler_destroy(sampler);
}

static void nan_logits_are_never_chosen_while_others_are_possible(void **state)
{
    const float some[] = {NAN, 0, NAN, 0}, none[] = {NAN, NAN, NAN, NAN};
    const struct baton_sampling sampling = {.temperature = 1, .top_k = 3, .top_p = 0.99, .seed = 1};
    struct baton_sampler *sampler = baton_sampler_create(4);
    (void)state;
    assert_distribution(some, 4, sampling, (double[]){0, 0.5, 0, 0.5});
    assert_int_equal(baton_sampler_pick(sampler, none, &sampling, 3), 0);
    baton_sampler_destroy(sampler);
}

static void extreme_temperatures_and_logits_stay_sane(void **state)
{
    const float logits[] = {-3e38F, 3e38F, 0, -INFINITY}, infinite[] = {0, INFINITY, 1, 2};
    const double temperatures[] = {1e-30, 1, 100};
    struct baton_sampler *sampler = baton_sampler_create(4);
    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct baton_sampling sampling = {.temperature = temperatures[i], .top_p = 0.5};
        assert_int_equal(baton_sampler_pick(sampler, logits, &sampling, 7), 1);
        assert_int_equal(baton_sampler_pick(sampler, infinite, &sampling, 7), 1);
    }
    baton_sampler_destroy(sampler);
}

static void a_pick_depends_on_seed_and_position_only(void **state)
{
    const struct baton_sampling sampling = {
        .temperature = 1, .top_k = 400, .top_p = 0.9, .seed = 3};
    float *logits = random_floats(1000, 4);
    struct baton_sampler *sampler = baton_sampler_create(1000), *other = baton_sampler_create(1000);
    (void)state;
    for (uint64_t i = 0; i < 50; i++)
        assert_int_equal(baton_sampler_pick(sampler, logits, &sampling, i),
                         baton_sampler_pick(other, logits, &sampling, i));
    assert_int_equal(baton_sampler_pick(sampler, logits, &sampling, 12),
                     baton_sampler_pick(other, logits, &sampling, 12));
    baton_sampler_destroy(sampler);
    baton_sampler_destroy(other);
    free(logits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(uniforms_depend_on_seed_and_position_and_fill_the_unit_interval),
        cmocka_unit_test(temperature_one_draws_from_the_softmax),
        cmocka_unit_test(temperature_flattens_the_softmax),
        cmocka_unit_test(top_k_two_keeps_the_two_highest),
        cmocka_unit_test(top_p_keeps_the_smallest_set_that_reaches_it),
        cmocka_unit_test(top_p_counts_only_what_top_k_kept),
        cmocka_unit_test(ties_at_the_kth_are_kept),
        cmocka_unit_test(greedy_takes_the_lowest_id_of_equal_logits),
        cmocka_unit_test(nan_logits_are_never_chosen_while_others_are_possible),
        cmocka_unit_test(extreme_temperatures_and_logits_stay_sane),
        cmocka_unit_test(a_pick_depends_on_seed_and_position_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
