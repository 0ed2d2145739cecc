#include "tests/unit/engine/sampling/reference.h"

enum { N_VOCAB = 500, FEW = 12 };

static const struct baton_sampling_params greedy = {.top_p = 1, .repetition_penalty = 1};

/* The chosen token again, from the decision's own numbers. */
static void assert_recomputes(const struct baton_decision *decision)
{
    const struct baton_candidate *chosen = &decision->chosen;
    if (decision->greedy) {
        assert_int_equal(decision->rank, 1);
        assert_true(decision->draw == 0 && chosen->interval_end == chosen->interval_begin);
    } else {
        assert_int_equal(chosen->removed_by, BATON_KEPT);
        assert_true(chosen->interval_begin <= decision->draw);
        assert_true(decision->draw < chosen->interval_end);
        assert_true(chosen->interval_begin >= 0 && chosen->interval_end <= 1);
        assert_true(fabs(chosen->interval_end - chosen->interval_begin - chosen->prob) < 1e-12);
    }
    for (int i = 0; i < decision->n_candidates; i++) {
        const struct baton_candidate *other = &decision->candidates[i];
        if (other->token == chosen->token)
            assert_true(other->interval_begin == chosen->interval_begin &&
                        other->interval_end == chosen->interval_end && other->prob == chosen->prob);
        else if (!decision->greedy)
            assert_false(other->interval_begin <= decision->draw &&
                         decision->draw < other->interval_end);
        assert_int_equal(other->token == chosen->token, i + 1 == (int)decision->rank);
        if (other->removed_by != BATON_KEPT)
            assert_true(other->prob == 0 && other->interval_begin == other->interval_end);
    }
}

TEST(explain_chooses_like_pick_and_its_numbers_show_why)
{
    struct baton_sampler *sampler = baton_sampler_create(N_VOCAB);
    struct dice dice = {.seed = 41};
    assert_non_null(sampler);
    for (int i = 0; i < 5000; i++) {
        struct sample_case c;
        struct baton_decision decision;
        sample_case_init(&c, &dice, N_VOCAB);
        if (i % 8 == 0)
            c.sampling.temperature = 0;
        uint32_t picked =
            baton_sampler_pick(sampler, c.logits, &c.sampling, &c.history, c.position);
        uint32_t explained = baton_sampler_explain(sampler, c.logits, &c.sampling, &c.history,
                                                   c.position, i % 21, &decision);
        assert_int_equal(explained, picked);
        assert_int_equal(decision.chosen.token, picked);
        assert_int_equal(decision.n_candidates, i % 21);
        assert_true(decision.greedy ||
                    decision.draw == baton_philox_uniform(c.sampling.seed, c.position));
        assert_recomputes(&decision);
        sample_case_fini(&c);
    }
    baton_sampler_destroy(sampler);
}

static int compare_by_token(const void *a, const void *b)
{
    const struct baton_candidate *x = a, *y = b;
    return (x->token > y->token) - (x->token < y->token);
}

TEST(intervals_cut_the_unit_interval_in_order_of_id)
{
    struct baton_sampler *sampler = baton_sampler_create(FEW);
    struct dice dice = {.seed = 43};
    for (int i = 0; i < 500; i++) {
        struct sample_case c;
        struct baton_decision decision;
        double border = 0;
        sample_case_init(&c, &dice, FEW);
        (void)baton_sampler_explain(sampler, c.logits, &c.sampling, &c.history, c.position, FEW,
                                    &decision);
        qsort(decision.candidates, FEW, sizeof decision.candidates[0], compare_by_token);
        for (int k = 0; k < FEW && !decision.greedy; k++) {
            const struct baton_candidate *candidate = &decision.candidates[k];
            if (candidate->prob == 0)
                continue;
            assert_true(candidate->interval_begin == border);
            border = candidate->interval_end;
        }
        assert_true(decision.greedy || border == 1);
        sample_case_fini(&c);
    }
    baton_sampler_destroy(sampler);
}

static uint32_t n_after(const struct baton_decision *decision, enum baton_removal removal)
{
    return decision->n_after[removal - BATON_FIRST_FILTER];
}

TEST(a_decision_names_every_stage)
{
    const float logits[] = {2.0F, -1.5F, 0.3F, 4.2F, -0.8F, 3.9F};
    struct baton_logit_bias bias = {.id = 5, .bias = -1};
    struct baton_sampling_params sampling = {BATON_SAMPLING_DEFAULTS, .top_k = 4, .bias = &bias,
                                             .n_bias = 1};
    struct baton_sampler *sampler = baton_sampler_create(6);
    struct baton_decision decision;
    sampling.top_p = 0.98; /* of .725 .195 .080 .015: the first three */
    sampling.min_p = 0.2;
    (void)baton_sampler_explain(sampler, logits, &sampling, NULL, 3, 6, &decision);
    const enum baton_removal wanted[] = {BATON_KEPT,
                                         BATON_KEPT,
                                         BATON_REMOVED_BY_MIN_P,
                                         BATON_REMOVED_BY_TOP_P,
                                         BATON_REMOVED_BY_TOP_K,
                                         BATON_REMOVED_BY_TOP_K};
    const uint32_t tokens[] = {3, 5, 0, 2, 4, 1};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(decision.candidates[i].token, tokens[i]);
        assert_int_equal(decision.candidates[i].removed_by, wanted[i]);
    }
    assert_int_equal(n_after(&decision, BATON_REMOVED_BY_TOP_K), 4);
    assert_int_equal(n_after(&decision, BATON_REMOVED_BY_TOP_P), 3);
    assert_int_equal(n_after(&decision, BATON_REMOVED_BY_MIN_P), 2);
    const struct baton_candidate *biased = &decision.candidates[1];
    double share = 1 / (1 + exp(-1.3)), raw = exp(4.2) + exp(3.9) + exp(2) + exp(.3);
    assert_true(biased->logit == 3.9F && biased->logit_penalized == 3.9F - 1);
    assert_true(fabs(biased->prob - (1 - share)) < 1e-6);
    assert_true(fabs(biased->prob_raw - exp(3.9) / (raw + exp(-.8) + exp(-1.5))) < 1e-6);
    assert_true(fabs(decision.entropy_bits + share * log2(share) + (1 - share) * log2(1 - share)) <
                1e-5);
    baton_sampler_destroy(sampler);
}

TEST(a_greedy_decision_removes_and_draws_nothing)
{
    const float logits[] = {1, 3, 3, NAN};
    struct baton_sampler *sampler = baton_sampler_create(4);
    struct baton_decision decision;
    struct baton_sampling_params sampling = greedy;
    double total = 2 + exp(-2);
    sampling.top_k = 1;
    sampling.min_p = 0.9;
    assert_int_equal(baton_sampler_explain(sampler, logits, &sampling, NULL, 0, 20, &decision), 1);
    assert_true(decision.greedy && decision.draw == 0);
    assert_int_equal(decision.rank, 1);
    assert_int_equal(decision.n_candidates, 4);
    for (int i = 0; i < BATON_N_FILTERS; i++)
        assert_int_equal(decision.n_after[i], 4);
    assert_true(fabs(decision.chosen.prob - 1 / total) < 1e-6);
    assert_true(fabs(decision.candidates[2].prob_shaped - exp(-2) / total) < 1e-6);
    assert_int_equal(decision.candidates[1].token, 2);
    assert_int_equal(decision.candidates[3].token, 3);
    assert_true(decision.candidates[3].logit == -INFINITY && decision.candidates[3].prob == 0);
    baton_sampler_destroy(sampler);
}

TEST(a_row_without_a_finite_logit_has_a_decision_too)
{
    const float logits[] = {NAN, -INFINITY, NAN};
    const struct baton_sampling_params sampling = {BATON_SAMPLING_DEFAULTS, .top_k = 2};
    struct baton_sampler *sampler = baton_sampler_create(3);
    struct baton_decision decision;
    assert_int_equal(baton_sampler_explain(sampler, logits, &sampling, NULL, 9, 3, &decision), 0);
    assert_true(decision.greedy);
    assert_int_equal(decision.rank, 1);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(decision.candidates[i].prob - 1.0 / 3) < 1e-12);
    assert_true(fabs(decision.entropy_bits - log2(3)) < 1e-12);
    baton_sampler_destroy(sampler);
}

TEST(logprobs_are_the_raw_log_softmax)
{
    enum { N = 3000, TOP = 20 };
    struct baton_sampler *sampler = baton_sampler_create(N);
    float *logits = random_floats(N, 6);
    double total = 0;
    for (int i = 0; i < N; i++)
        logits[i] = floorf(64 * logits[i]) / 4 - 33; /* with ties */
    for (int i = 0; i < N; i++)
        total += exp(logits[i]);
    for (uint32_t token = 0; token < N; token += 97) {
        struct baton_logprob top[TOP];
        double got = baton_sampler_logprobs(sampler, logits, token, TOP, top);
        assert_true(fabs(got - (logits[token] - log(total))) < 1e-6);
        for (int i = 0; i < TOP; i++) {
            assert_true(fabs(top[i].logprob - (logits[top[i].token] - log(total))) < 1e-6);
            if (i)
                assert_true(
                    top[i].logprob < top[i - 1].logprob ||
                    (top[i].logprob == top[i - 1].logprob && top[i].token > top[i - 1].token));
        }
        uint32_t last = top[TOP - 1].token;
        int n_before = 0;
        assert_int_equal(baton_sampler_rank(sampler, logits, last), TOP);
        for (uint32_t i = 0; i < N; i++)
            n_before += logits[i] > logits[last] || (logits[i] == logits[last] && i < last);
        assert_int_equal(n_before, TOP - 1);
        assert_true(fabs(baton_sampler_logprobs(sampler, logits, token, 0, NULL) - got) < 1e-15);
    }
    free(logits);
    baton_sampler_destroy(sampler);
}

TEST(logprobs_of_odd_rows_are_never_nan)
{
    const float rows[][3] = {{NAN, NAN, NAN}, {INFINITY, 0, INFINITY}, {-INFINITY, 4, NAN}};
    const double wanted[] = {-log(3), -log(2), -INFINITY};
    struct baton_sampler *sampler = baton_sampler_create(3);
    for (int i = 0; i < 3; i++) {
        struct baton_logprob top[3];
        double got = baton_sampler_logprobs(sampler, rows[i], 0, 3, top);
        assert_true(got == wanted[i] || fabs(got - wanted[i]) < 1e-12);
        for (int k = 0; k < 3; k++)
            assert_false(isnan(top[k].logprob));
    }
    baton_sampler_destroy(sampler);
}
