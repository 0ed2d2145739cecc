/* One token sampled from its logits by the state of its sequence, with the details that the
 * parameters request.
 *
 * Ownership: plain data; the paths of a decision's candidates belong to the state's grammar.
 * Threading: engine thread.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_SAMPLING_SAMPLED_TOKEN_H
#define BATON_ENGINE_SAMPLING_SAMPLED_TOKEN_H

#include "engine/sampling/sampler.h"
#include "engine/sampling/state.h"

/* The log-probability of a token, and those of the most probable ones. */
struct baton_sampled_logprobs {
    double logprob;
    uint32_t rank; /* 1: the token is the most probable one */
    int n_top;     /* at most V */
    struct baton_logprob top[BATON_MAX_LISTED];
};

struct baton_sampled_token {
    uint32_t token;
    bool is_explained, has_logprobs; /* whether decision, logprobs are set */
    struct baton_decision decision;
    struct baton_sampled_logprobs logprobs;
};

/* Samples from logits [V] with the sequence's state; position is the token's. The state does not
 * change: see baton_sampling_state_accept. */
void baton_sampled_token_make(struct baton_sampled_token *sampled, struct baton_sampler *sampler,
                              const struct baton_sampling_state *state, const float *logits,
                              uint64_t position);

/* The log-probabilities of token and of the n_top (0..BATON_MAX_LISTED) most probable ones. */
void baton_sampled_logprobs_make(struct baton_sampled_logprobs *logprobs,
                                 struct baton_sampler *sampler, const float *logits, uint32_t token,
                                 int n_top);

#endif
