#include "tests/support/test.h"

#include <stdlib.h>

#include "engine/sampling/sampled_token.h"

enum { N_VOCAB = 5 };

static const float logits[N_VOCAB] = {2.0F, -1.5F, 0.3F, 4.2F, -0.8F};

static struct baton_sampler *sampler;
static struct baton_sampling_params sampling;
static struct baton_sampling_state state;

SETUP(set_up)
{
    sampling = (struct baton_sampling_params){BATON_SAMPLING_DEFAULTS};
    sampling.temperature = 0;
    sampler = baton_sampler_create(N_VOCAB);
    assert_non_null(sampler);
}

TEARDOWN(tear_down)
{
    baton_sampling_state_fini(&state);
    baton_sampler_destroy(sampler);
}

static void make_state(const uint32_t *prompt, size_t n_prompt)
{
    assert_ok(baton_sampling_state_init(&state, &sampling, prompt, n_prompt, 8));
}

static void stop_at(const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sampling.stop_ids[i] = ids[i];
    sampling.n_stop_ids = n;
}

static uint32_t sample_at(uint64_t position, struct baton_sampled_token *sampled)
{
    baton_sampled_token_make(sampled, sampler, &state, logits, position);
    return sampled->token;
}

TEST(a_state_knows_its_stop_tokens)
{
    stop_at((const uint32_t[]){3, 5}, 2);
    make_state(NULL, 0);
    assert_true(baton_sampling_params_is_stop(&state.params, 5));
    assert_false(baton_sampling_params_is_stop(&state.params, 4));
}

TEST(without_penalties_nothing_is_remembered)
{
    make_state(NULL, 0);
    assert_false(state.keeps_history);
    baton_sampling_state_accept(&state, 3);
    assert_int_equal(state.history.n_seen, 0);
}

TEST(a_state_takes_its_params_over)
{
    struct baton_sampled_token sampled;
    struct baton_logit_bias *bias = calloc(1, sizeof *bias);
    assert_non_null(bias);
    *bias = (struct baton_logit_bias){.id = 1, .bias = 100};
    sampling.bias = bias;
    sampling.n_bias = 1;
    make_state(NULL, 0);
    assert_ptr_equal(state.params.bias, bias);
    assert_null(sampling.bias);
    assert_int_equal(sample_at(0, &sampled), 1);
    assert_false(sampled.is_explained);
    assert_false(sampled.has_logprobs);
}

TEST(a_penalty_applies_to_tokens_of_prompt_and_output)
{
    const uint32_t prompt[] = {3};
    struct baton_sampled_token sampled;
    sampling.repetition_penalty = 4; /* 4.2 becomes 1.05, less than 2 */
    make_state(prompt, 1);
    assert_int_equal(sample_at(1, &sampled), 0);
    baton_sampling_state_accept(&state, sampled.token); /* 2 becomes 0.5 */
    assert_int_equal(sample_at(2, &sampled), 3);
}

TEST(stop_ids_do_not_come_before_min_tokens)
{
    /* the most probable one, and one past the vocabulary */
    const uint32_t ids[] = {3, N_VOCAB + 60};
    struct baton_sampled_token sampled;
    stop_at(ids, 2);
    sampling.min_tokens = 2;
    sampling.explain = 1;
    make_state(NULL, 0);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(sample_at(i, &sampled), 0);
        assert_int_equal(sampled.decision.candidates[0].token, 3);
        assert_int_equal(sampled.decision.candidates[0].removed_by, BATON_REMOVED_BY_MIN_TOKENS);
        baton_sampling_state_accept(&state, 0);
    }
    assert_int_equal(sample_at(2, &sampled), 3);
    assert_int_equal(sampled.decision.candidates[0].removed_by, BATON_KEPT);
    baton_sampling_state_drop(&state, 0);
    assert_int_equal(sample_at(1, &sampled), 0);
}

TEST(a_stop_id_comes_where_nothing_else_can)
{
    struct baton_sampled_token sampled;
    stop_at((const uint32_t[]){0, 1, 2, 3, 4}, N_VOCAB);
    sampling.min_tokens = 9;
    make_state(NULL, 0);
    assert_int_equal(sample_at(0, &sampled), 3);
}

TEST(logprobs_list_no_more_than_the_vocabulary)
{
    struct baton_sampled_token sampled;
    sampling.logprobs = true;
    sampling.top_logprobs = BATON_MAX_LISTED;
    make_state(NULL, 0);
    (void)sample_at(0, &sampled);
    assert_true(sampled.has_logprobs);
    assert_int_equal(sampled.logprobs.n_top, N_VOCAB);
    assert_true(sampled.logprobs.logprob == sampled.logprobs.top[0].logprob);
}

EACH_TEST(set_up, tear_down)
