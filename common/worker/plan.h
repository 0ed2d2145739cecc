/* How a request's tokens are chosen and which of them end it, as both workers keep it.
 *
 * Ownership: a plan owns copies of what the message held, and the history that penalties need;
 *            zeroed it is valid to fini.
 * Threading: set once on the main thread, then used by the engine thread.
 * Errors:    init: NO_MEMORY. The message was checked when it arrived.
 */
#ifndef BATON_WORKER_PLAN_H
#define BATON_WORKER_PLAN_H

#include <stdbool.h>

#include "common/sampling/sampler.h"
#include "common/wire/envelope.h"

struct baton_plan {
    struct baton_sampling sampling; /* its bias is the plan's own */
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
enum baton_err baton_plan_init(struct baton_plan *plan, const Baton__V1__Sampling *sampling,
                               const uint32_t *prompt, size_t n_prompt,
                               size_t max_new_tokens) BATON_MUST_CHECK;
void baton_plan_fini(struct baton_plan *plan);

/* The token became part of the output. */
void baton_plan_note(struct baton_plan *plan, uint32_t token);

/* Whether generation ends with this token. */
bool baton_plan_is_stop(const struct baton_plan *plan, uint32_t token);

#endif
