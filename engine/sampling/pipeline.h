/* The stages between a row of logits and the draw, and the state of a row in them.
 *
 *     logits -> bias -> penalties | BATON_FILTERS | weights -> draw
 *               adjustments         filters
 *
 * Adjustments change logits and also hold for greedy choices. Filters remove tokens from the draw.
 * A mask of allowed tokens stands between the two: it sets the others to -infinity, which no later
 * stage keeps while any logit is above it.
 *
 * Ownership: everything points into the sampler or the caller's logits.
 * Threading: the sampler's.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_SAMPLING_PIPELINE_H
#define BATON_ENGINE_SAMPLING_PIPELINE_H

#include "engine/kernels/kernels.h"
#include "engine/sampling/sampler.h"
#include "engine/sampling/select.h"

enum { BATON_DRAW_BLOCK = 256 }; /* weights summed at once; the draw skips whole blocks */

struct baton_sampler {
    size_t n_vocab;
    const struct baton_kernels *kernels;
    float *adjusted;          /* [V] a copy of the row, when an adjustment changes it */
    float *kept_logits;       /* [V], and a vector more that kernels may overwrite */
    uint32_t *kept_ids;       /* likewise */
    float *weights;           /* likewise */
    uint32_t *places;         /* likewise */
    float *maxima;            /* [V / 16], of groups of logits */
    struct baton_item *items; /* [V] */
    double *block_sums;       /* [V / BATON_DRAW_BLOCK] */
    const uint64_t *mask;     /* [V / 64] of allowed tokens; NULL: all */
    bool holds_stops;         /* the mask has no stop ids, by min_tokens */
    uint64_t *mask_scratch;   /* [V / 64] */
    float *masked;            /* [V] */
};

/* The effect of one filter: it kept every token above least and up to most, and among those equal
 * to least the ids up to last. */
struct baton_cut {
    float least, most; /* -infinity and infinity: it kept everything */
    uint32_t last;
    size_t n_left;
};

/* A row after its adjustments, and the tokens that the filters left. A weight is a probability
 * before it is divided by the total: exp((logit - max) / temperature). */
struct baton_shaped {
    float max; /* the greatest of logits */
    double temperature;

    const float *logits; /* [n] adjusted, of the kept tokens */
    const uint32_t *ids; /* [n] ascending; NULL: all of the vocabulary is kept */
    size_t n;
    double total; /* of the kept tokens' weights; the sampler has these and the blocks' sums */

    struct baton_cut cuts[BATON_N_FILTERS];
};

/* Applies bias and penalties. Returns the sampler's own copy when one of them is
 * on, else logits. */
const float *baton_pipeline_adjust(struct baton_sampler *sampler, const float *logits,
                                   const struct baton_sampling_params *params,
                                   const struct baton_history *history);

/* The logits of the tokens that the mask allows, -infinity for the others; adjusted itself without
 * a mask. */
const float *baton_pipeline_mask(struct baton_sampler *sampler, const float *adjusted);

static inline bool baton_sampler_allows(const struct baton_sampler *sampler, uint32_t token)
{
    return !sampler->mask || (sampler->mask[token / 64] >> (token % 64) & 1);
}

/* True when nothing is drawn: temperature 0, or no logit above -infinity. */
bool baton_pipeline_is_greedy(const struct baton_sampling_params *params, float max);

/* The lowest id that has the greatest logit. */
uint32_t baton_pipeline_argmax(struct baton_sampler *sampler, const float *logits, float max);

/* Fills weights and block_sums from n logits; returns their total. */
double baton_pipeline_weigh(struct baton_sampler *sampler, const float *logits, size_t n, float max,
                            double temperature);

/* The filters (filters.c), and the weights of the tokens that they leave. */
void baton_pipeline_filter(struct baton_sampler *sampler, const float *adjusted, float max,
                           const struct baton_sampling_params *params, struct baton_shaped *shaped);

/* The filter that removed a token with this adjusted logit (no NaN). */
enum baton_removal baton_shaped_removal(const struct baton_shaped *shaped, float logit,
                                        uint32_t token);

/* The index in shaped of the kept token whose interval contains uniform. */
size_t baton_pipeline_draw(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                           double uniform);

/* The interval of the kept token at place, with exactly the borders that baton_pipeline_draw
 * compares with. */
void baton_pipeline_interval(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                             size_t place, double *begin, double *end);

static inline uint32_t baton_shaped_id(const struct baton_shaped *shaped, size_t place)
{
    return shaped->ids ? shaped->ids[place] : (uint32_t)place;
}

#endif
