#include "tests/support/test.h"

#include <math.h>

#include "common/base/array.h"
#include "common/wire/envelope/envelope.h"
#include "engine/sampling/sampled_token.h"

enum { N_VOCAB = 5 };

static const float logits[N_VOCAB] = {2.0F, -1.5F, 0.3F, 4.2F, -0.8F};

static struct baton_sampler *sampler;
static Baton__V1__Sampling sampling;
static struct baton_sampling_state state;

SETUP(set_up)
{
    baton__v1__sampling__init(&sampling);
    sampling.top_p = 1;
    sampler = baton_sampler_create(N_VOCAB);
    return !sampler;
}

TEARDOWN(tear_down)
{
    baton_sampling_state_fini(&state);
    baton_sampler_destroy(sampler);
    return 0;
}

static void make_state(const uint32_t *prompt, size_t n_prompt)
{
    assert_int_equal(baton_sampling_state_init(&state, &sampling, prompt, n_prompt, 8), BATON_OK);
}

TEST(a_state_knows_its_stop_tokens)
{
    uint32_t ids[] = {3, 5};
    sampling.stop_token_ids = ids;
    sampling.n_stop_token_ids = 2;
    make_state(NULL, 0);
    assert_true(baton_sampling_params_is_stop(&state.params, 5));
    assert_false(baton_sampling_params_is_stop(&state.params, 4));
}

TEST(a_sampling_from_before_penalties_has_none)
{
    make_state(NULL, 0);
    assert_true(state.params.repetition_penalty == 1);
    assert_false(state.keeps_history);
    baton_sampling_state_note(&state, 3); /* and nothing is remembered */
    assert_int_equal(state.history.n_seen, 0);
}

TEST(a_state_owns_its_bias)
{
    Baton__V1__LogitBias bias = BATON__V1__LOGIT_BIAS__INIT, *biases[] = {&bias};
    struct baton_sampled_token sampled;
    bias.token = 1;
    bias.bias = 100;
    sampling.logit_bias = biases;
    sampling.n_logit_bias = 1;
    make_state(NULL, 0);
    bias.token = 2;
    baton_sampled_token_make(&sampled, sampler, &state, logits, 0);
    assert_int_equal(sampled.token, 1);
    assert_null(sampled.decision);
    assert_null(sampled.logprobs);
}

TEST(a_penalty_looks_at_prompt_and_output)
{
    const uint32_t prompt[] = {3};
    struct baton_sampled_token sampled;
    sampling.repetition_penalty = 4; /* 4.2 becomes 1.05, less than 2 */
    make_state(prompt, 1);
    baton_sampled_token_make(&sampled, sampler, &state, logits, 1);
    assert_int_equal(sampled.token, 0);
    baton_sampling_state_note(&state, sampled.token); /* 2 becomes 0.5 */
    baton_sampled_token_make(&sampled, sampler, &state, logits, 2);
    assert_int_equal(sampled.token, 3);
}

static uint32_t sample_at(uint64_t position, struct baton_sampled_token *sampled)
{
    baton_sampled_token_make(sampled, sampler, &state, logits, position);
    return sampled->token;
}

TEST(stop_ids_do_not_come_before_min_tokens)
{
    uint32_t ids[] = {3, N_VOCAB + 60}; /* the most probable one, and one past the vocabulary */
    struct baton_sampled_token sampled;
    sampling.stop_token_ids = ids;
    sampling.n_stop_token_ids = 2;
    sampling.min_tokens = 2;
    sampling.explain = 1;
    make_state(NULL, 0);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(sample_at(i, &sampled), 0);
        assert_int_equal(sampled.decision->candidates[0]->token, 3);
        assert_int_equal(sampled.decision->candidates[0]->removed_by,
                         BATON__V1__CANDIDATE__REMOVAL__MIN_TOKENS);
        baton_sampling_state_note(&state, 0);
    }
    assert_int_equal(sample_at(2, &sampled), 3);
    assert_int_equal(sampled.decision->candidates[0]->removed_by,
                     BATON__V1__CANDIDATE__REMOVAL__KEPT);
    baton_sampling_state_drop(&state, 0);
    assert_int_equal(sample_at(1, &sampled), 0);
}

TEST(a_stop_id_comes_where_nothing_else_can)
{
    uint32_t ids[] = {0, 1, 2, 3, 4};
    struct baton_sampled_token sampled;
    sampling.stop_token_ids = ids;
    sampling.n_stop_token_ids = N_VOCAB;
    sampling.min_tokens = 9;
    make_state(NULL, 0);
    assert_int_equal(sample_at(0, &sampled), 3);
}

TEST(a_sampled_tokens_report_passes_the_wires_check)
{
    static const float odd[][N_VOCAB] = {{2.0F, -1.5F, 0.3F, 4.2F, -0.8F},
                                         {NAN, NAN, NAN, NAN, NAN},
                                         {INFINITY, 0, -INFINITY, NAN, INFINITY},
                                         {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY}};
    sampling.temperature = 1;
    sampling.top_k = 2;
    sampling.explain = sampling.top_logprobs = BATON_MAX_LISTED; /* more than V */
    sampling.logprobs = true;
    make_state(NULL, 0);
    for (size_t i = 0; i < BATON_N_OF(odd); i++) {
        Baton__V1__FirstToken first = BATON__V1__FIRST_TOKEN__INIT;
        baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
        struct baton_sampled_token sampled;
        struct baton_why why;
        baton_sampled_token_make(&sampled, sampler, &state, odd[i], i);
        first.token = sampled.token;
        first.decision = sampled.decision;
        first.logprobs = sampled.logprobs;
        envelope.body_case = BATON__V1__ENVELOPE__BODY_FIRST_TOKEN;
        envelope.first_token = &first;
        envelope.src_epoch = envelope.dst_epoch = envelope.link = envelope.link_seq = 1;
        envelope.request_id = envelope.attempt = 1;
        if (baton_envelope_check(&envelope, 0, &why))
            fail_msg("row %zu: %s", i, why.text);
        assert_int_equal(first.decision->n_candidates, N_VOCAB);
        assert_int_equal(first.logprobs->n_top_tokens, N_VOCAB);
    }
}

EACH_TEST(set_up, tear_down)
