/* How a request's tokens are chosen and which of them end it, as both workers keep it.
 *
 * Ownership: a state owns copies of what the message held, and the history that penalties need;
 *            zeroed it is valid to fini.
 * Threading: set once on the main thread, then used by the engine thread.
 * Errors:    init: NO_MEMORY. The message was checked when it arrived.
 */
#ifndef BATON_SAMPLING_STATE_H
#define BATON_SAMPLING_STATE_H

#include <stdbool.h>

#include "common/sampling/sampler.h"
#include "common/wire/envelope.h"

struct baton_sampling_state {
    struct baton_sampling params; /* its bias is the state's own */
    struct baton_logit_bias *bias;
    struct baton_history history; /* empty unless the sampling needs one */
    bool keeps_history;
    uint32_t stop_ids[BATON_MAX_STOP_IDS];
    size_t n_stop_ids;
    int explain_candidates; /* a decision per token that lists this many; 0: none */
    bool logprobs;
    int top_logprobs;
};

/* prompt [n_prompt] and at most max_new_tokens more are what the history has to remember. */
enum baton_err baton_sampling_state_init(struct baton_sampling_state *state,
                                         const Baton__V1__Sampling *sampling,
                                         const uint32_t *prompt, size_t n_prompt,
                                         size_t max_new_tokens) BATON_MUST_CHECK;
void baton_sampling_state_fini(struct baton_sampling_state *state);

/* The token became part of the output. */
void baton_sampling_state_note(struct baton_sampling_state *state, uint32_t token);

/* Whether generation ends with this token. */
bool baton_sampling_state_is_stop(const struct baton_sampling_state *state, uint32_t token);

#endif
