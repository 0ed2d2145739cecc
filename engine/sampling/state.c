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
    struct baton_matcher *texts;
    enum baton_err err = BATON_OK;
    if (state->params.grammar.kind != BATON_GRAMMAR_NONE)
        err = baton_grammar_set_match(grammars, &state->params.grammar, &state->matcher);
    if (err || !baton_thinking_budget_is_set(&state->params.thinking))
        return err;
    err = baton_grammar_set_texts(grammars, &texts);
    return err ? err : baton_thinking_create(&state->params.thinking, texts, &state->thinking);
}

enum baton_err baton_sampling_state_ready(const struct baton_sampling_state *state)
{
    enum baton_err err = state->matcher ? baton_matcher_state(state->matcher) : BATON_OK;
    return !err && state->thinking ? baton_thinking_state(state->thinking) : err;
}

void baton_sampling_state_fini(struct baton_sampling_state *state)
{
    baton_matcher_destroy(state->matcher);
    baton_thinking_destroy(state->thinking);
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
    if (state->thinking)
        baton_thinking_accept(state->thinking, token);
}

void baton_sampling_state_drop(struct baton_sampling_state *state, uint32_t token)
{
    state->n_output--;
    if (state->keeps_history)
        baton_history_drop_output(&state->history, token);
    if (state->matcher)
        baton_matcher_drop(state->matcher);
    if (state->thinking)
        baton_thinking_drop(state->thinking);
}

void baton_sampling_state_accept_all(struct baton_sampling_state *state, const uint32_t *tokens,
                                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        baton_sampling_state_accept(state, tokens[i]);
}
