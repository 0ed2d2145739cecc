#include "tests/support/test.h"

#include <math.h>

#include "common/base/array.h"
#include "common/wire/envelope/envelope.h"
#include "worker/sampling_messages.h"

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
    assert_non_null(sampler);
}

TEARDOWN(tear_down)
{
    baton_sampling_state_fini(&state);
    baton_sampler_destroy(sampler);
}

static void open_state(void)
{
    assert_ok(baton_sampling_state_open(&state, &sampling, NULL, 0, 8, NULL));
}

TEST(a_sampling_from_before_penalties_has_none)
{
    open_state();
    assert_true(state.params.repetition_penalty == 1);
    assert_false(state.keeps_history);
}

TEST(a_state_outlives_the_message_it_came_from)
{
    Baton__V1__LogitBias bias = BATON__V1__LOGIT_BIAS__INIT, *biases[] = {&bias};
    struct baton_sampled_message sampled;
    uint32_t stop = 3;
    bias.token = 1;
    bias.bias = 100;
    sampling.logit_bias = biases;
    sampling.n_logit_bias = 1;
    sampling.stop_token_ids = &stop;
    sampling.n_stop_token_ids = 1;
    open_state();
    bias.token = stop = 2;
    baton_sampled_message_make(&sampled, sampler, &state, logits, 0);
    assert_int_equal(sampled.token, 1);
    assert_true(baton_sampling_params_is_stop(&state.params, 3));
    assert_null(sampled.decision);
    assert_null(sampled.logprobs);
}

TEST(a_decisions_message_names_the_filter_that_removed_a_candidate)
{
    uint32_t stop = 3;
    struct baton_sampled_message sampled;
    sampling.stop_token_ids = &stop;
    sampling.n_stop_token_ids = 1;
    sampling.min_tokens = 1;
    sampling.explain = 2;
    open_state();
    baton_sampled_message_make(&sampled, sampler, &state, logits, 0);
    assert_int_equal(sampled.decision->n_candidates, 2);
    assert_int_equal(sampled.decision->candidates[0]->token, 3);
    assert_int_equal(sampled.decision->candidates[0]->removed_by, BATON_REMOVED_BY_MIN_TOKENS);
    assert_int_equal(sampled.decision->candidates[1]->token, sampled.token);
    assert_int_equal(sampled.decision->candidates[1]->removed_by, BATON_KEPT);
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
    open_state();
    for (size_t i = 0; i < BATON_N_OF(odd); i++) {
        Baton__V1__FirstToken first = BATON__V1__FIRST_TOKEN__INIT;
        baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
        struct baton_sampled_message sampled;
        struct baton_why why;
        baton_sampled_message_make(&sampled, sampler, &state, odd[i], i);
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
