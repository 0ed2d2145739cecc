/* The sampling state of one sequence: its parameters, and the history of tokens for penalties.
 *
 * Prompt and output are told apart: presence and frequency penalties count the output alone. A
 * sequence that moves to another worker gets the same state there from its prompt and a note per
 * token of its output so far.
 *
 * Ownership: a state owns its parameters and history; zeroed it is valid to fini.
 * Threading: set once on the main thread, then used by the engine thread.
 * Errors:    init: NO_MEMORY. Parameters are in range: whoever reads them checks that.
 */
#ifndef BATON_ENGINE_SAMPLING_STATE_H
#define BATON_ENGINE_SAMPLING_STATE_H

#include "common/params/sampling.h"
#include "engine/grammar/set.h"
#include "engine/sampling/history.h"

struct baton_sampling_state {
    struct baton_sampling_params params;
    struct baton_history history; /* empty unless the parameters need one */
    bool keeps_history;
    struct baton_matcher *matcher; /* NULL: held to no grammar */
    size_t n_output;               /* tokens noted */
};

/* The history must hold prompt [n_prompt] and at most max_new_tokens more tokens. The state takes
 * params over, also on an error, and leaves the caller an empty struct. */
enum baton_err baton_sampling_state_init(struct baton_sampling_state *state,
                                         struct baton_sampling_params *params,
                                         const uint32_t *prompt, size_t n_prompt,
                                         size_t max_new_tokens) BATON_MUST_CHECK;
/* Holds the sequence to the grammar of its parameters, if there is one, before any output is noted.
 * It may be used once ready says so. Errors: those of baton_grammar_set_match. */
enum baton_err baton_sampling_state_hold(struct baton_sampling_state *state,
                                         struct baton_grammar_set *grammars) BATON_MUST_CHECK;
/* Whether tokens may be chosen. AGAIN: the grammar is being made; else why there is none. */
enum baton_err baton_sampling_state_ready(const struct baton_sampling_state *state);
void baton_sampling_state_fini(struct baton_sampling_state *state);

/* The token became part of the output. */
void baton_sampling_state_note(struct baton_sampling_state *state, uint32_t token);
/* The last token noted is no part of it after all. */
void baton_sampling_state_drop(struct baton_sampling_state *state, uint32_t token);
/* As note for tokens [n], in order: what earlier attempts made. */
void baton_sampling_state_note_all(struct baton_sampling_state *state, const uint32_t *tokens,
                                   size_t n);

#endif
