/* What the sampler's files share: its scratch memory, and a row of logits on its way from filter to
 * filter (filters.c), to the draw (draw.c) and the reasons (explain.c).
 *
 * Ownership: everything points into the sampler or the caller's logits.
 * Threading: the sampler's.
 * Errors:    none.
 */
#ifndef BATON_SAMPLING_PIPELINE_H
#define BATON_SAMPLING_PIPELINE_H

#include "common/engine/kernels/kernels.h"
#include "common/sampling/sampler.h"
#include "common/sampling/select.h"

enum { BATON_DRAW_BLOCK = 256 }; /* weights summed at once; the draw skips whole blocks */

struct baton_sampler {
    size_t n_vocab;
    const struct baton_kernels *kernels;
    float *penalized;         /* [V] a copy of the row, when bias or penalties change it */
    float *kept_logits;       /* [V], with room for a vector more */
    uint32_t *kept_ids;       /* likewise */
    float *weights;           /* likewise */
    uint32_t *places;         /* likewise */
    float *maxima;            /* [V / 16], of groups of logits */
    struct baton_item *items; /* [V] */
    double *block_sums;       /* [V / BATON_DRAW_BLOCK] */
};

/* A row after bias and penalties, and what the filters left of it. A weight is a probability before
 * it is divided by the total: exp((logit - max) / temperature). */
struct baton_shaped {
    float max; /* the greatest penalized logit */
    double temperature;

    const float *logits; /* [n] penalized, of the kept tokens */
    const uint32_t *ids; /* [n] rising; NULL: all of the vocabulary is kept */
    size_t n;
    double
        total; /* of the kept tokens' weights, which are in the sampler, as are the blocks' sums */

    size_t n_after_top_k, n_after_top_p;
    float top_k_least, top_p_least, min_p_least; /* the lowest logit that each filter kept */
    uint32_t top_p_last;                         /* the last id with top_p_least that top-p kept */
};

/* The sampler's own copy when the settings change the row, else logits. */
const float *baton_sampler_penalize(struct baton_sampler *sampler, const float *logits,
                                    const struct baton_sampling_params *params,
                                    const struct baton_history *history);

/* True when nothing is drawn: temperature 0, or no logit to tell from -infinity. */
bool baton_sampler_is_greedy(const struct baton_sampling_params *params, float max);

/* The lowest id that has the greatest logit. */
uint32_t baton_sampler_argmax(struct baton_sampler *sampler, const float *logits, float max);

/* Fills weights and block_sums from n logits; returns their total. */
double baton_sampler_weigh(struct baton_sampler *sampler, const float *logits, size_t n, float max,
                           double temperature);

/* Temperature, top-k, top-p, min-p and the weights of what is left. */
void baton_sampler_filter(struct baton_sampler *sampler, const float *penalized, float max,
                          const struct baton_sampling_params *params, struct baton_shaped *shaped);

/* The kept token (its place in shaped) whose interval uniform falls into. */
size_t baton_draw_place(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                        double uniform);

/* The interval of the kept token at place: the very borders that baton_draw_place compares with. */
void baton_draw_interval(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                         size_t place, double *begin, double *end);

static inline uint32_t baton_shaped_id(const struct baton_shaped *shaped, size_t place)
{
    return shaped->ids ? shaped->ids[place] : (uint32_t)place;
}

#endif
