#include "engine/sampling/sampled_token.h"

#include <math.h>

#include "engine/grammar/masks/masks.h"

static void fill_candidate(Baton__V1__Candidate *out, const struct baton_candidate *candidate,
                           const struct baton_sampling_state *state)
{
    baton__v1__candidate__init(out);
    out->token = candidate->token;
    out->logit = candidate->logit;
    out->logit_penalized = candidate->logit_penalized;
    out->prob_raw = candidate->prob_raw;
    out->prob_shaped = candidate->prob_shaped;
    out->prob = candidate->prob;
    out->removed_by = (Baton__V1__Candidate__Removal)candidate->removed_by; /* numbered alike */
    out->interval_begin = candidate->interval_begin;
    out->interval_end = candidate->interval_end;
    const char *path = candidate->removed_by == BATON_REMOVED_BY_GRAMMAR && state->matcher
                           ? baton_matcher_removed_at(state->matcher, candidate->token)
                           : NULL;
    if (path) /* packed, only read; the state holds it */
        out->removed_at = (char *)(uintptr_t)path;
}

static void fill_decision(struct baton_sampled_token *sampled,
                          const struct baton_decision *decision,
                          const struct baton_sampling_state *state)
{
    Baton__V1__Decision *out = &sampled->decision_message;
    baton__v1__decision__init(out);
    fill_candidate(&sampled->chosen, &decision->chosen, state);
    out->greedy = decision->greedy;
    out->chosen = &sampled->chosen;
    out->rank = decision->rank;
    out->n_after_top_k = decision->n_after_top_k;
    out->n_after_top_p = decision->n_after_top_p;
    out->n_after_min_p = decision->n_after_min_p;
    out->draw = decision->draw;
    out->entropy_bits = decision->entropy_bits;
    out->n_candidates = (size_t)decision->n_candidates;
    out->candidates = sampled->listed;
    for (int i = 0; i < decision->n_candidates; i++) {
        fill_candidate(&sampled->candidates[i], &decision->candidates[i], state);
        sampled->listed[i] = &sampled->candidates[i];
    }
    sampled->decision = out;
}

void baton_logprobs_fill(struct baton_logprobs_message *out, struct baton_sampler *sampler,
                         const float *logits, uint32_t token, int n_top)
{
    struct baton_logprob top[BATON_MAX_LISTED];
    int n_vocab = baton_sampler_n_vocab(sampler);
    n_top = n_top < n_vocab ? n_top : n_vocab;
    double logprob = baton_sampler_logprobs(sampler, logits, token, n_top, top);
    baton__v1__logprobs__init(&out->message);
    out->message.logprob = isnan(logprob) ? -INFINITY : logprob; /* logits that are no numbers */
    out->message.top_tokens = out->tokens;
    out->message.top_logprobs = out->values;
    out->message.n_top_tokens = out->message.n_top_logprobs = (size_t)n_top;
    for (int i = 0; i < n_top; i++) {
        out->tokens[i] = top[i].token;
        out->values[i] = isnan(top[i].logprob) ? -INFINITY : top[i].logprob;
    }
}

/* Takes the stop ids out of a mask, unless nothing else is in it: a grammar may have come to its
 * end. Returns whether it did. */
static bool take_stops_out(const struct baton_sampling_params *params, size_t n_vocab,
                           uint64_t *mask)
{
    uint64_t any = 0, taken[BATON_MAX_STOP_IDS];
    for (size_t i = 0; i < params->n_stop_ids; i++) {
        uint32_t id = params->stop_ids[i];
        uint64_t bit = (uint64_t)1 << (id % 64);
        taken[i] = id < n_vocab ? mask[id / 64] & bit : 0;
        if (id < n_vocab)
            mask[id / 64] &= ~bit;
    }
    for (size_t i = 0; i < baton_mask_words(n_vocab); i++)
        any |= mask[i];
    for (size_t i = 0; !any && i < params->n_stop_ids; i++)
        if (taken[i])
            mask[params->stop_ids[i] / 64] |= taken[i];
    return any;
}

static void allow_all(size_t n_vocab, uint64_t *mask)
{
    for (size_t i = 0; i < n_vocab; i += 64)
        mask[i / 64] = n_vocab - i < 64 ? ((uint64_t)1 << (n_vocab - i)) - 1 : UINT64_MAX;
}

static void allow(struct baton_sampler *sampler, const struct baton_sampling_state *state)
{
    const struct baton_sampling_params *params = &state->params;
    size_t n_vocab = (size_t)baton_sampler_n_vocab(sampler);
    bool holds_stops = state->n_output < params->min_tokens && params->n_stop_ids;
    uint64_t *mask = state->matcher || holds_stops ? baton_sampler_mask_room(sampler) : NULL;
    if (state->matcher)
        baton_matcher_mask(state->matcher, params->stop_ids, params->n_stop_ids, n_vocab, mask);
    else if (holds_stops)
        allow_all(n_vocab, mask);
    if (holds_stops)
        holds_stops = take_stops_out(params, n_vocab, mask);
    baton_sampler_allow(sampler, mask, holds_stops);
}

void baton_sampled_token_make(struct baton_sampled_token *sampled, struct baton_sampler *sampler,
                              const struct baton_sampling_state *state, const float *logits,
                              uint64_t position)
{
    const struct baton_sampling_params *params = &state->params;
    sampled->decision = NULL;
    sampled->logprobs = NULL;
    allow(sampler, state);
    if (params->explain) {
        struct baton_decision decision;
        sampled->token = baton_sampler_explain(sampler, logits, params, &state->history, position,
                                               (int)params->explain, &decision);
        fill_decision(sampled, &decision, state);
    } else {
        sampled->token = baton_sampler_pick(sampler, logits, params, &state->history, position);
    }
    if (params->logprobs) {
        baton_logprobs_fill(&sampled->logprobs_message, sampler, logits, sampled->token,
                            (int)params->top_logprobs);
        sampled->logprobs = &sampled->logprobs_message.message;
    }
}

void baton_sampled_tokens_into(Baton__V1__Tokens *message, struct baton_tokens_room *room,
                               const struct baton_sampled_token *sampled, int n)
{
    for (int i = 0; i < n; i++) {
        room->ids[i] = sampled[i].token;
        room->decisions[i] = sampled[i].decision;
        room->logprobs[i] = sampled[i].logprobs;
    }
    message->tokens = room->ids;
    message->n_tokens = (size_t)n;
    message->decisions = room->decisions;
    message->n_decisions = sampled->decision ? (size_t)n : 0;
    message->logprobs = room->logprobs;
    message->n_logprobs = sampled->logprobs ? (size_t)n : 0;
}
