/* The sampling state of one sequence: its parameters, and the history of tokens for penalties.
 *
 * Prompt and output are counted separately: presence and frequency penalties count the output
 * alone. A sequence that moves to another worker gets the same state there: its prompt, and then a
 * call of accept for each token of its output so far.
 *
 * Ownership: a state owns its parameters and history; zeroed it is valid to fini.
 * Threading: set once on the main thread, then used by the engine thread.
 * Errors:    init: NO_MEMORY. Parameters are in range: their reader has checked them.
 */
#ifndef BATON_ENGINE_SAMPLING_STATE_H
#define BATON_ENGINE_SAMPLING_STATE_H

#include "common/params/sampling.h"
#include "engine/grammar/set.h"
#include "engine/sampling/history.h"
#include "engine/sampling/thinking.h"

struct baton_sampling_state {
    struct baton_sampling_params params;
    struct baton_history history; /* empty unless the parameters need one */
    bool keeps_history;
    struct baton_matcher *matcher;   /* NULL: no grammar constrains the sequence */
    struct baton_thinking *thinking; /* NULL: no budget bounds its reasoning */
    size_t n_output;                 /* tokens accepted */
};

/* The history must hold prompt [n_prompt] and at most max_new_tokens more tokens. The state takes
 * params over, also on an error, and leaves the caller an empty struct. */
enum baton_err baton_sampling_state_init(struct baton_sampling_state *state,
                                         struct baton_sampling_params *params,
                                         const uint32_t *prompt, size_t n_prompt,
                                         size_t max_new_tokens) BATON_MUST_CHECK;
/* Constrains the sequence to the grammar and the budget of its parameters, if there are any, before
 * any output. It may be used once ready returns BATON_OK. Errors: those of
 * baton_grammar_set_match. */
enum baton_err baton_sampling_state_hold(struct baton_sampling_state *state,
                                         struct baton_grammar_set *grammars) BATON_MUST_CHECK;
/* Whether tokens may be chosen. AGAIN: a grammar is being compiled; other errors: it could not
 * be. */
enum baton_err baton_sampling_state_ready(const struct baton_sampling_state *state);
void baton_sampling_state_fini(struct baton_sampling_state *state);

/* Adds a token to the output. */
void baton_sampling_state_accept(struct baton_sampling_state *state, uint32_t token);
/* Takes back the last token of the output, a draft that was rejected. */
void baton_sampling_state_drop(struct baton_sampling_state *state, uint32_t token);
/* Adds tokens [n] to the output, in order: those of earlier attempts. */
void baton_sampling_state_accept_all(struct baton_sampling_state *state, const uint32_t *tokens,
                                     size_t n);

#endif
