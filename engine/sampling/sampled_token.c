#include "engine/sampling/sampled_token.h"

#include <string.h>

#include "engine/grammar/masks/masks.h"

/* Takes the stop ids out of a mask, unless nothing else is in it: at the end of a grammar the text
 * can only stop, whatever min_tokens is. Returns whether it did. */
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

static void allow_listed(const struct baton_sampling_params *params, size_t n_vocab, uint64_t *mask)
{
    memset(mask, 0, baton_mask_words(n_vocab) * sizeof *mask);
    for (size_t i = 0; i < params->n_allowed_ids; i++)
        if (params->allowed_ids[i] < n_vocab)
            mask[params->allowed_ids[i] / 64] |= (uint64_t)1 << (params->allowed_ids[i] % 64);
}

/* Leaves only the token that closes the reasoning, unless a grammar forbids it here. */
static bool allow_close(const struct baton_sampling_state *state, size_t n_vocab, uint64_t *mask)
{
    uint32_t id;
    if (!state->thinking || !baton_thinking_forces(state->thinking, &id) || id >= n_vocab)
        return false;
    if (state->matcher && !(mask[id / 64] >> (id % 64) & 1))
        return false;
    memset(mask, 0, baton_mask_words(n_vocab) * sizeof *mask);
    mask[id / 64] = (uint64_t)1 << (id % 64);
    return true;
}

static void allow(struct baton_sampler *sampler, const struct baton_sampling_state *state)
{
    const struct baton_sampling_params *params = &state->params;
    size_t n_vocab = (size_t)baton_sampler_n_vocab(sampler);
    bool holds_stops = state->n_output < params->min_tokens && params->n_stop_ids;
    uint64_t *scratch = baton_sampler_mask_scratch(sampler), *mask = NULL;
    if (state->matcher || holds_stops || params->n_allowed_ids)
        mask = scratch;
    if (state->matcher)
        baton_matcher_mask(state->matcher, params->stop_ids, params->n_stop_ids, n_vocab, mask);
    else if (params->n_allowed_ids)
        allow_listed(params, n_vocab, mask);
    else if (holds_stops)
        allow_all(n_vocab, mask);
    if (allow_close(state, n_vocab, scratch))
        mask = scratch;
    else if (holds_stops)
        holds_stops = take_stops_out(params, n_vocab, mask);
    baton_sampler_allow(sampler, mask, holds_stops);
}

static void find_path(struct baton_candidate *candidate, const struct baton_sampling_state *state)
{
    if (candidate->removed_by == BATON_REMOVED_BY_GRAMMAR && state->matcher)
        candidate->removed_at = baton_matcher_removed_at(state->matcher, candidate->token);
}

static uint32_t explain(struct baton_decision *decision, struct baton_sampler *sampler,
                        const struct baton_sampling_state *state, const float *logits,
                        uint64_t position)
{
    const struct baton_sampling_params *params = &state->params;
    uint32_t token = baton_sampler_explain(sampler, logits, params, &state->history, position,
                                           (int)params->explain, decision);
    find_path(&decision->chosen, state);
    for (int i = 0; i < decision->n_candidates; i++)
        find_path(&decision->candidates[i], state);
    return token;
}

void baton_sampled_logprobs_make(struct baton_sampled_logprobs *logprobs,
                                 struct baton_sampler *sampler, const float *logits, uint32_t token,
                                 int n_top)
{
    int n_vocab = baton_sampler_n_vocab(sampler);
    logprobs->n_top = n_top < n_vocab ? n_top : n_vocab;
    logprobs->logprob =
        baton_sampler_logprobs(sampler, logits, token, logprobs->n_top, logprobs->top);
    logprobs->rank = baton_sampler_rank(sampler, logits, token);
}

void baton_sampled_token_make(struct baton_sampled_token *sampled, struct baton_sampler *sampler,
                              const struct baton_sampling_state *state, const float *logits,
                              uint64_t position)
{
    const struct baton_sampling_params *params = &state->params;
    sampled->is_explained = params->explain > 0;
    sampled->has_logprobs = params->logprobs;
    allow(sampler, state);
    sampled->token = sampled->is_explained
                         ? explain(&sampled->decision, sampler, state, logits, position)
                         : baton_sampler_pick(sampler, logits, params, &state->history, position);
    if (sampled->has_logprobs)
        baton_sampled_logprobs_make(&sampled->logprobs, sampler, logits, sampled->token,
                                    (int)params->top_logprobs);
}
