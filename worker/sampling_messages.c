#include "worker/sampling_messages.h"

#include <math.h>
#include <string.h>

#include "common/wire/envelope/sampling_codec.h"

enum baton_err baton_sampling_state_open(struct baton_sampling_state *state,
                                         const Baton__V1__Sampling *message, const uint32_t *prompt,
                                         size_t n_prompt, size_t n_more,
                                         struct baton_grammar_set *grammars)
{
    struct baton_sampling_params params;
    enum baton_err err = baton_sampling_decode(&params, message);
    if (!err)
        err = baton_sampling_state_init(state, &params, prompt, n_prompt, n_more);
    if (err)
        return err;
    err = baton_sampling_state_hold(state, grammars);
    if (err)
        baton_sampling_state_fini(state);
    return err;
}

/* ---- a token's details ---- */

static void fill_candidate(Baton__V1__Candidate *out, const struct baton_candidate *candidate)
{
    baton__v1__candidate__init(out);
    out->token = candidate->token;
    out->logit = candidate->logit;
    out->logit_penalized = candidate->logit_penalized;
    out->prob_raw = candidate->prob_raw;
    out->prob_shaped = candidate->prob_shaped;
    out->prob = candidate->prob;
    out->removed_by = candidate->removed_by;
    out->interval_begin = candidate->interval_begin;
    out->interval_end = candidate->interval_end;
    if (candidate->removed_at) /* protobuf-c has no const; packing only reads it */
        out->removed_at = (char *)(uintptr_t)candidate->removed_at;
}

static void fill_decision(struct baton_sampled_message *sampled,
                          const struct baton_decision *decision)
{
    Baton__V1__Decision *out = &sampled->decision_message;
    baton__v1__decision__init(out);
    fill_candidate(&sampled->chosen, &decision->chosen);
    out->greedy = decision->greedy;
    out->chosen = &sampled->chosen;
    out->rank = decision->rank;
    memcpy(sampled->n_after, decision->n_after, sizeof sampled->n_after);
    out->n_after = sampled->n_after;
    out->n_n_after = BATON_N_FILTERS;
    out->draw = decision->draw;
    out->entropy_bits = decision->entropy_bits;
    out->n_candidates = (size_t)decision->n_candidates;
    out->candidates = sampled->listed;
    for (int i = 0; i < decision->n_candidates; i++) {
        fill_candidate(&sampled->candidates[i], &decision->candidates[i]);
        sampled->listed[i] = &sampled->candidates[i];
    }
}

/* The wire rejects NaN, which counts as -infinity in sampling. */
static double number(double logprob)
{
    return isnan(logprob) ? -INFINITY : logprob;
}

static void fill_logprobs(struct baton_logprobs_message *out,
                          const struct baton_sampled_logprobs *logprobs)
{
    baton__v1__logprobs__init(&out->message);
    out->message.logprob = number(logprobs->logprob);
    out->message.rank = logprobs->rank;
    out->message.top_tokens = out->tokens;
    out->message.top_logprobs = out->values;
    out->message.n_top_tokens = out->message.n_top_logprobs = (size_t)logprobs->n_top;
    for (int i = 0; i < logprobs->n_top; i++) {
        out->tokens[i] = logprobs->top[i].token;
        out->values[i] = number(logprobs->top[i].logprob);
    }
}

void baton_sampled_message_make(struct baton_sampled_message *out, struct baton_sampler *sampler,
                                const struct baton_sampling_state *state, const float *logits,
                                uint64_t position)
{
    struct baton_sampled_token sampled;
    baton_sampled_token_make(&sampled, sampler, state, logits, position);
    out->token = sampled.token;
    out->decision = sampled.is_explained ? &out->decision_message : NULL;
    out->logprobs = sampled.has_logprobs ? &out->logprobs_message.message : NULL;
    if (sampled.is_explained)
        fill_decision(out, &sampled.decision);
    if (sampled.has_logprobs)
        fill_logprobs(&out->logprobs_message, &sampled.logprobs);
}

void baton_logprobs_message_make(struct baton_logprobs_message *out, struct baton_sampler *sampler,
                                 const float *logits, uint32_t token, int n_top)
{
    struct baton_sampled_logprobs logprobs;
    baton_sampled_logprobs_make(&logprobs, sampler, logits, token, n_top);
    fill_logprobs(out, &logprobs);
}

void baton_sampled_messages_into(Baton__V1__Tokens *message, struct baton_tokens_arrays *arrays,
                                 const struct baton_sampled_message *sampled, int n)
{
    for (int i = 0; i < n; i++) {
        arrays->ids[i] = sampled[i].token;
        arrays->decisions[i] = sampled[i].decision;
        arrays->logprobs[i] = sampled[i].logprobs;
    }
    message->tokens = arrays->ids;
    message->n_tokens = (size_t)n;
    message->decisions = arrays->decisions;
    message->n_decisions = sampled->decision ? (size_t)n : 0;
    message->logprobs = arrays->logprobs;
    message->n_logprobs = sampled->logprobs ? (size_t)n : 0;
}
