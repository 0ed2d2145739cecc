/* Sampling and the wire: the sampling state of a message, and the messages of a sampled token.
 *
 * Ownership: messages point into their struct, which must not move while they are used, and to
 *            paths that belong to the state's grammar.
 * Threading: engine thread; opening a state: main thread.
 * Errors:    as each function says.
 */
#ifndef BATON_WORKER_SAMPLING_MESSAGES_H
#define BATON_WORKER_SAMPLING_MESSAGES_H

#include "common/params/speculation.h"
#include "engine/sampling/sampled_token.h"
#include "proto/baton.pb-c.h"

/* The state of a sequence after its prompt [n_prompt], constrained by the grammar that the message
 * may have, with capacity for n_more tokens. The message was checked when it arrived. Errors: those
 * of baton_sampling_state_init and of baton_sampling_state_hold. */
enum baton_err baton_sampling_state_open(struct baton_sampling_state *state,
                                         const Baton__V1__Sampling *message, const uint32_t *prompt,
                                         size_t n_prompt, size_t n_more,
                                         struct baton_grammar_set *grammars) BATON_MUST_CHECK;

/* Logprobs as a message, with its arrays. */
struct baton_logprobs_message {
    Baton__V1__Logprobs message;
    uint32_t tokens[BATON_MAX_LISTED];
    double values[BATON_MAX_LISTED];
};

struct baton_sampled_message {
    uint32_t token;
    /* The details of FirstToken and Tokens; NULL when they were not requested. */
    Baton__V1__Decision *decision;
    Baton__V1__Logprobs *logprobs;

    Baton__V1__Decision decision_message;
    Baton__V1__Candidate chosen, candidates[BATON_MAX_LISTED], *listed[BATON_MAX_LISTED];
    uint32_t n_after[BATON_N_FILTERS];
    struct baton_logprobs_message logprobs_message;
};

/* Samples as baton_sampled_token_make does, and fills the messages. */
void baton_sampled_message_make(struct baton_sampled_message *out, struct baton_sampler *sampler,
                                const struct baton_sampling_state *state, const float *logits,
                                uint64_t position);

/* Computes what baton_sampled_logprobs_make does, and fills the messages. */
void baton_logprobs_message_make(struct baton_logprobs_message *out, struct baton_sampler *sampler,
                                 const float *logits, uint32_t token, int n_top);

/* The arrays of a message that carries the tokens of one step of a sequence. */
struct baton_tokens_arrays {
    uint32_t ids[1 + BATON_MAX_DRAFTS];
    Baton__V1__Decision *decisions[1 + BATON_MAX_DRAFTS];
    Baton__V1__Logprobs *logprobs[1 + BATON_MAX_DRAFTS];
};

/* Puts tokens [n], n <= 1 + BATON_MAX_DRAFTS, into a message. All or none have each detail. */
void baton_sampled_messages_into(Baton__V1__Tokens *message, struct baton_tokens_arrays *arrays,
                                 const struct baton_sampled_message *sampled, int n);

#endif
