/* One token sampled from its logits, with the details that the client asked for, ready for the
 * wire.
 *
 * Ownership: plain data; the messages point into the struct, which must not move while they are
 *            used.
 * Threading: engine thread.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_SAMPLING_SAMPLED_TOKEN_H
#define BATON_ENGINE_SAMPLING_SAMPLED_TOKEN_H

#include "common/params/speculation.h"
#include "engine/sampling/sampler.h"
#include "engine/sampling/state.h"

/* Logprobs as a message, with the room they need. */
struct baton_logprobs_message {
    Baton__V1__Logprobs message;
    uint32_t tokens[BATON_MAX_LISTED];
    double values[BATON_MAX_LISTED];
};

struct baton_sampled_token {
    uint32_t token;
    /* What to put into FirstToken and Tokens; NULL when it was not asked for. */
    Baton__V1__Decision *decision;
    Baton__V1__Logprobs *logprobs;

    Baton__V1__Decision decision_message;
    Baton__V1__Candidate chosen, candidates[BATON_MAX_LISTED], *listed[BATON_MAX_LISTED];
    struct baton_logprobs_message logprobs_message;
};

/* Samples from logits [V] with the sequence's state; position is the token's. The state does not
 * change: see baton_sampling_state_note. */
void baton_sampled_token_make(struct baton_sampled_token *sampled, struct baton_sampler *sampler,
                              const struct baton_sampling_state *state, const float *logits,
                              uint64_t position);

/* The log-probabilities of token and of the n_top most probable ones, as a message. */
void baton_logprobs_fill(struct baton_logprobs_message *out, struct baton_sampler *sampler,
                         const float *logits, uint32_t token, int n_top);

/* What a message that carries tokens points to: those of one step of a sequence. */
struct baton_tokens_room {
    uint32_t ids[1 + BATON_MAX_DRAFTS];
    Baton__V1__Decision *decisions[1 + BATON_MAX_DRAFTS];
    Baton__V1__Logprobs *logprobs[1 + BATON_MAX_DRAFTS];
};

/* Puts tokens [n], n <= 1 + BATON_MAX_DRAFTS, into a message. All or none have each detail. */
void baton_sampled_tokens_into(Baton__V1__Tokens *message, struct baton_tokens_room *room,
                               const struct baton_sampled_token *sampled, int n);

#endif
