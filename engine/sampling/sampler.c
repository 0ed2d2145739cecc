#include "engine/sampling/sampler.h"

#include <stdlib.h>

#include "engine/sampling/philox.h"
#include "engine/sampling/pipeline.h"
#include "engine/system/floats.h"

enum { VECTOR = 16 }; /* kernels store whole vectors, so they write past the last kept element */

struct baton_sampler *baton_sampler_create(int n_vocab)
{
    struct baton_sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler || n_vocab < 1) {
        free(sampler);
        return NULL;
    }
    size_t n = (size_t)n_vocab, n_padded = n + VECTOR;
    *sampler = (struct baton_sampler){
        .n_vocab = n,
        .kernels = baton_kernels_best(),
        .adjusted = baton_floats_create(n),
        .kept_logits = baton_floats_create(n_padded),
        .kept_ids = calloc(n_padded, sizeof *sampler->kept_ids),
        .weights = baton_floats_create(n_padded),
        .places = calloc(n_padded, sizeof *sampler->places),
        .maxima = baton_floats_create(n / VECTOR + VECTOR), /* 16 for each 256, rounded up */
        .items = calloc(n, sizeof *sampler->items),
        .block_sums = calloc(n / BATON_DRAW_BLOCK + 1, sizeof *sampler->block_sums),
        .mask_scratch = calloc(n / 64 + 1, sizeof *sampler->mask_scratch),
        .masked = baton_floats_create(n_padded)};
    if (!sampler->adjusted || !sampler->kept_logits || !sampler->kept_ids || !sampler->weights ||
        !sampler->places || !sampler->maxima || !sampler->items || !sampler->block_sums ||
        !sampler->mask_scratch || !sampler->masked) {
        baton_sampler_destroy(sampler);
        return NULL;
    }
    return sampler;
}

void baton_sampler_destroy(struct baton_sampler *sampler)
{
    if (!sampler)
        return;
    free(sampler->adjusted);
    free(sampler->kept_logits);
    free(sampler->kept_ids);
    free(sampler->weights);
    free(sampler->places);
    free(sampler->maxima);
    free(sampler->items);
    free(sampler->block_sums);
    free(sampler->mask_scratch);
    free(sampler->masked);
    free(sampler);
}

void baton_sampler_allow(struct baton_sampler *sampler, const uint64_t *mask, bool holds_stops)
{
    sampler->mask = mask;
    sampler->holds_stops = holds_stops;
}

uint64_t *baton_sampler_mask_scratch(struct baton_sampler *sampler)
{
    return sampler->mask_scratch;
}

int baton_sampler_n_vocab(const struct baton_sampler *sampler)
{
    return (int)sampler->n_vocab;
}

uint32_t baton_sampler_pick(struct baton_sampler *sampler, const float *logits,
                            const struct baton_sampling_params *params,
                            const struct baton_history *history, uint64_t position)
{
    struct baton_shaped shaped;
    const float *adjusted =
        baton_pipeline_mask(sampler, baton_pipeline_adjust(sampler, logits, params, history));
    float max = sampler->kernels->max(adjusted, sampler->n_vocab);
    if (baton_pipeline_is_greedy(params, max))
        return baton_pipeline_argmax(sampler, adjusted, max);
    baton_pipeline_filter(sampler, adjusted, max, params, &shaped);
    double uniform = baton_philox_uniform(params->seed, position);
    return baton_shaped_id(&shaped, baton_pipeline_draw(sampler, &shaped, uniform));
}
