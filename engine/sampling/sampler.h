/* From one row of logits to one token, with the reasons of the choice.
 *
 *     logits -> bias -> repetition, presence, frequency penalties -> temperature
 *            -> mask of a grammar, of min_tokens -> filters -> softmax -> draw
 *
 * The draw is a Philox 4x32-10 number (Salmon et al., "Parallel random numbers: as easy as 1, 2,
 * 3", SC 2011) keyed by the seed, with the token's absolute position as counter: it does not depend
 * on worker, batch, attempt or history. The kept tokens' probabilities divide [0, 1) into intervals
 * in order of id, and the number falls into one of them. A rounding error of a probability moves a
 * border by as much, so it changes a choice with that probability only.
 *
 * NaN logits count as -infinity. +infinity beats everything else; several share equally. A row in
 * which nothing is above -infinity gives the lowest id, as greedy does, whatever the temperature.
 *
 * Ownership: a sampler owns scratch memory for V candidates, sized at creation.
 * Threading: one thread per sampler.
 * Errors:    create: NO_MEMORY.
 */
#ifndef BATON_ENGINE_SAMPLING_SAMPLER_H
#define BATON_ENGINE_SAMPLING_SAMPLER_H

#include "common/params/sampling.h"
#include "engine/sampling/history.h"

/* One token as the pipeline saw it. */
struct baton_candidate {
    uint32_t token;
    float logit;           /* raw */
    float logit_penalized; /* after bias and penalties */
    double prob_raw;       /* softmax of the raw logits */
    double prob_shaped;    /* after bias, penalties and temperature, before anything was removed */
    double prob;           /* of the distribution drawn from; 0 when removed */
    enum baton_removal removed_by;
    const char *removed_at; /* by a schema: the path in it; NULL: by no schema, or not looked up */
    double interval_begin, interval_end; /* its part of [0, 1); equal when removed or greedy */
};

/* Why a token was chosen. With temperature 0 nothing is removed or drawn: prob and prob_shaped are
 * then the softmax of the penalized logits, and draw is 0. */
struct baton_decision {
    bool greedy;
    struct baton_candidate chosen;
    uint32_t rank; /* of the chosen token by penalized logit, then by id; 1 is the highest */
    uint32_t n_after[BATON_N_FILTERS]; /* tokens that each filter left */
    double draw;                       /* the uniform number */
    double entropy_bits;               /* of the distribution drawn from */
    int n_candidates;
    struct baton_candidate candidates[BATON_MAX_LISTED]; /* by rank */
};

struct baton_logprob {
    uint32_t token;
    double logprob;
};

struct baton_sampler;

/* A sampler for rows of n_vocab logits; NULL when memory is out. */
struct baton_sampler *baton_sampler_create(int n_vocab);
void baton_sampler_destroy(struct baton_sampler *sampler);

/* Sets the tokens that may be chosen from now on, a bit per id; NULL: all. Borrowed. holds_stops:
 * min_tokens took the stop ids out of it. */
void baton_sampler_allow(struct baton_sampler *sampler, const uint64_t *mask, bool holds_stops);
/* Scratch memory for such a mask: the sampler's own. */
uint64_t *baton_sampler_mask_scratch(struct baton_sampler *sampler);

/* V of the sampler. */
int baton_sampler_n_vocab(const struct baton_sampler *sampler);

/* logits [V], untouched. history may be NULL when the params need none. position is the absolute
 * position the token will have (prompt tokens included). Returns the token id. Allocates nothing.
 */
uint32_t baton_sampler_pick(struct baton_sampler *sampler, const float *logits,
                            const struct baton_sampling_params *params,
                            const struct baton_history *history, uint64_t position);

/* The same token as pick, with its reasons; n_candidates (0..BATON_MAX_LISTED) are listed. */
uint32_t baton_sampler_explain(struct baton_sampler *sampler, const float *logits,
                               const struct baton_sampling_params *params,
                               const struct baton_history *history, uint64_t position,
                               int n_candidates, struct baton_decision *decision);

/* Natural logarithm of the softmax of the raw logits, for token; top [n_top] gets the most probable
 * ones (n_top 0..BATON_MAX_LISTED, at most V), highest first, the lowest id of equals first. */
double baton_sampler_logprobs(struct baton_sampler *sampler, const float *logits, uint32_t token,
                              int n_top, struct baton_logprob *top);

/* The token's place in that order among all of them; 1: the most probable one. */
uint32_t baton_sampler_rank(const struct baton_sampler *sampler, const float *logits,
                            uint32_t token);

#endif
