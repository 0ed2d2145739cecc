#include "common/sampling/state.h"

#include <stdlib.h>

static struct baton_sampling sampling_of(const Baton__V1__Sampling *sampling)
{
    return (struct baton_sampling){
        .temperature = sampling->temperature,
        .top_k = sampling->top_k,
        .top_p = sampling->top_p,
        .min_p = sampling->min_p,
        .repetition_penalty = sampling->repetition_penalty > 0 ? sampling->repetition_penalty : 1,
        .presence_penalty = sampling->presence_penalty,
        .frequency_penalty = sampling->frequency_penalty,
        .seed = sampling->seed};
}

static enum baton_err copy_bias(struct baton_sampling_state *state,
                                const Baton__V1__Sampling *sampling)
{
    size_t n = sampling->n_logit_bias;
    if (!n)
        return BATON_OK;
    state->bias = calloc(n, sizeof *state->bias);
    if (!state->bias)
        return BATON_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        state->bias[i] = (struct baton_logit_bias){.id = sampling->logit_bias[i]->token,
                                                   .bias = sampling->logit_bias[i]->bias};
    state->params.bias = state->bias;
    state->params.n_bias = n;
    return BATON_OK;
}

enum baton_err baton_sampling_state_init(struct baton_sampling_state *state,
                                         const Baton__V1__Sampling *sampling,
                                         const uint32_t *prompt, size_t n_prompt,
                                         size_t max_new_tokens)
{
    struct baton_sampling_state made = {.params = sampling_of(sampling),
                                        .n_stop_ids = sampling->n_stop_token_ids,
                                        .explain_candidates = (int)sampling->explain_candidates,
                                        .logprobs = sampling->logprobs,
                                        .top_logprobs = (int)sampling->top_logprobs};
    for (size_t i = 0; i < made.n_stop_ids; i++)
        made.stop_ids[i] = sampling->stop_token_ids[i];
    made.keeps_history = baton_sampling_needs_history(&made.params);
    enum baton_err err = copy_bias(&made, sampling);
    if (!err && made.keeps_history)
        err = baton_history_init(&made.history, n_prompt + max_new_tokens);
    if (err) {
        baton_sampling_state_fini(&made);
        return err;
    }
    if (made.keeps_history)
        baton_history_add_prompt(&made.history, prompt, n_prompt);
    *state = made;
    return BATON_OK;
}

void baton_sampling_state_fini(struct baton_sampling_state *state)
{
    free(state->bias);
    baton_history_fini(&state->history);
    *state = (struct baton_sampling_state){0};
}

void baton_sampling_state_note(struct baton_sampling_state *state, uint32_t token)
{
    if (state->keeps_history)
        baton_history_add_output(&state->history, token);
}

bool baton_sampling_state_is_stop(const struct baton_sampling_state *state, uint32_t token)
{
    for (size_t i = 0; i < state->n_stop_ids; i++)
        if (state->stop_ids[i] == token)
            return true;
    return false;
}
