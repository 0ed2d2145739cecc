/* The handling of a prompt that both workers share: its tokens are checked, its first token is
 * sent.
 *
 * Ownership: everything is borrowed.
 * Threading: any.
 * Errors:    as each function says.
 */
#ifndef BATON_WORKER_PROMPT_H
#define BATON_WORKER_PROMPT_H

#include "common/policy/priority.h"
#include "worker/origin.h"
#include "worker/sampling_messages.h"

/* Whether every one of tokens [n] is in the vocabulary. */
bool baton_prompt_is_valid(const uint32_t *tokens, size_t n, int64_t n_vocab);

/* The class of a message; an unknown one of a later version counts as interactive. */
static inline enum baton_priority baton_prompt_priority(Baton__V1__Priority priority)
{
    return priority == BATON__V1__PRIORITY__BATCH ? BATON_PRIORITY_BATCH
                                                  : BATON_PRIORITY_INTERACTIVE;
}

/* The sampling state at the end of the request's tokens, of which the last n_output_tokens count as
 * output, with capacity for n_more. NO_MEMORY. */
enum baton_err baton_prompt_sampling(const Baton__V1__PrefillRequest *request, size_t n_more,
                                     struct baton_grammar_set *grammars,
                                     struct baton_sampling_state *state) BATON_MUST_CHECK;

/* The timings and counts of a prompt up to its first token. */
struct baton_first_token {
    double queue_s, compute_s, sample_s;
    int n_cached_tokens;    /* of the prompt, not computed */
    int n_disk_tokens;      /* of them, read from disk */
    int n_stateless_tokens; /* after them, whose blocks were there without a state */
    bool cold, stopped;     /* the worker's first request; at a stop token */
};

/* Fills in the message, which then points into sampled. */
void baton_first_token_fill(Baton__V1__FirstToken *message, const struct baton_first_token *first,
                            const struct baton_sampled_message *sampled);

/* Logs it. */
void baton_first_token_log(const struct baton_first_token *first,
                           const struct baton_origin *origin);

#endif
