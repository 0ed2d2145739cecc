/* 200,000 draws against the exact distribution, by Pearson's chi-square. Seeds are fixed, so a test
 * gives the same answer every time; the limit is the quantile that one in 10,000 would pass. */
#include "tests/unit/engine/sampling/reference.h"

enum { N_DRAWS = 200000, N_VOCAB = 400, MIN_EXPECTED = 8 };

/* Wilson and Hilferty's cube. */
static double chi_square_limit(int freedom)
{
    const double normal_quantile = 3.719;
    double v = 2.0 / (9.0 * freedom);
    return freedom * pow(1 - v + normal_quantile * sqrt(v), 3);
}

/* Tokens too improbable to count on their own are counted together. */
static void assert_fits(const int *counts, const double *prob)
{
    double rare_expected = 0, statistic = 0;
    int n_bins = 0, rare = 0;
    for (int i = 0; i < N_VOCAB; i++) {
        double expected = N_DRAWS * prob[i], off = counts[i] - expected;
        if (expected == 0)
            assert_int_equal(counts[i], 0);
        if (expected < MIN_EXPECTED) {
            rare_expected += expected;
            rare += counts[i];
            continue;
        }
        statistic += off * off / expected;
        n_bins++;
    }
    if (rare_expected >= MIN_EXPECTED) {
        statistic += (rare - rare_expected) * (rare - rare_expected) / rare_expected;
        n_bins++;
    }
    assert_true(n_bins > 1);
    if (statistic > chi_square_limit(n_bins - 1))
        fail_msg("chi-square %.1f of %d bins", statistic, n_bins);
}

enum varying { POSITIONS, SEEDS };

static void draw_many(struct baton_sampling_params sampling, enum varying varying)
{
    static int counts[N_VOCAB];
    struct sample_case c = {.n_vocab = N_VOCAB, .sampling = sampling};
    struct dice dice = {.seed = 77};
    struct reference reference;
    struct baton_sampler *sampler = baton_sampler_create(N_VOCAB);
    c.logits = calloc(N_VOCAB, sizeof *c.logits);
    assert_true(sampler && c.logits);
    for (int i = 0; i < N_VOCAB; i++)
        c.logits[i] = (float)throw_real(&dice, -6, 3);
    reference_init(&reference, &c);
    memset(counts, 0, sizeof counts);
    for (uint64_t i = 0; i < N_DRAWS; i++) {
        if (varying == SEEDS)
            sampling.seed = i;
        counts[baton_sampler_pick(sampler, c.logits, &sampling, NULL, varying == SEEDS ? 5 : i)]++;
    }
    assert_false(reference.close);
    assert_fits(counts, reference.prob);
    reference_fini(&reference);
    baton_sampler_destroy(sampler);
    free(c.logits);
}

static struct baton_sampling_params plain(uint64_t seed)
{
    return (struct baton_sampling_params){BATON_SAMPLING_DEFAULTS, .seed = seed};
}

TEST(draws_follow_the_softmax)
{
    draw_many(plain(1), POSITIONS);
}

TEST(draws_follow_the_softmax_at_other_temperatures)
{
    const double temperatures[] = {0.4, 0.7, 1.8};
    for (uint64_t i = 0; i < 3; i++) {
        struct baton_sampling_params sampling = plain(2 + i);
        sampling.temperature = temperatures[i];
        draw_many(sampling, POSITIONS);
    }
}

#define FOLLOWS(filter, value, seed)                                                               \
    TEST(draws_follow_what_##filter##_keeps)                                                       \
    {                                                                                              \
        struct baton_sampling_params sampling = plain(seed);                                       \
        sampling.filter = value;                                                                   \
        draw_many(sampling, POSITIONS);                                                            \
    }

FOLLOWS(top_k, 40, 5)
FOLLOWS(top_p, 0.8, 6)
FOLLOWS(min_p, 0.07, 7)
FOLLOWS(top_n_sigma, 1.3, 9)
FOLLOWS(typical_p, 0.5, 10)

TEST(draws_follow_all_filters_together)
{
    struct baton_sampling_params sampling = plain(8);
    sampling.temperature = 1.4;
    sampling.top_n_sigma = 2.5;
    sampling.top_k = 150;
    sampling.typical_p = 0.95;
    sampling.top_p = 0.9;
    sampling.min_p = 0.1;
    draw_many(sampling, POSITIONS);
}

TEST(seeds_are_as_good_as_positions)
{
    draw_many(plain(0), SEEDS);
}
