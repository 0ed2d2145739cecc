#include "engine/sampling/state.h"

enum baton_err baton_sampling_state_init(struct baton_sampling_state *state,
                                         struct baton_sampling_params *params,
                                         const uint32_t *prompt, size_t n_prompt,
                                         size_t max_new_tokens)
{
    struct baton_sampling_state made = {.params = *params};
    enum baton_err err = BATON_OK;
    *params = (struct baton_sampling_params){0};
    made.keeps_history = baton_sampling_needs_history(&made.params);
    if (made.keeps_history)
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

enum baton_err baton_sampling_state_hold(struct baton_sampling_state *state,
                                         struct baton_grammar_set *grammars)
{
    if (state->params.grammar.kind == BATON_GRAMMAR_NONE)
        return BATON_OK;
    return baton_grammar_set_match(grammars, &state->params.grammar, &state->matcher);
}

enum baton_err baton_sampling_state_ready(const struct baton_sampling_state *state)
{
    return state->matcher ? baton_matcher_state(state->matcher) : BATON_OK;
}

void baton_sampling_state_fini(struct baton_sampling_state *state)
{
    baton_matcher_destroy(state->matcher);
    baton_sampling_params_fini(&state->params);
    baton_history_fini(&state->history);
    *state = (struct baton_sampling_state){0};
}

void baton_sampling_state_accept(struct baton_sampling_state *state, uint32_t token)
{
    state->n_output++;
    if (state->keeps_history)
        baton_history_add_output(&state->history, token);
    if (state->matcher)
        baton_matcher_accept(state->matcher, token);
}

void baton_sampling_state_drop(struct baton_sampling_state *state, uint32_t token)
{
    state->n_output--;
    if (state->keeps_history)
        baton_history_drop_output(&state->history, token);
    if (state->matcher)
        baton_matcher_drop(state->matcher);
}

void baton_sampling_state_accept_all(struct baton_sampling_state *state, const uint32_t *tokens,
                                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        baton_sampling_state_accept(state, tokens[i]);
}
