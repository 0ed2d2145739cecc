#include "common/sampling/sampler.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/engine/system/floats.h"
#include "common/sampling/philox.h"
#include "common/sampling/pipeline.h"

enum { VECTOR = 16 }; /* what kernels write past the last element kept */

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
        .penalized = baton_floats_create(n),
        .kept_logits = baton_floats_create(n_padded),
        .kept_ids = calloc(n_padded, sizeof *sampler->kept_ids),
        .weights = baton_floats_create(n_padded),
        .places = calloc(n_padded, sizeof *sampler->places),
        .maxima = baton_floats_create(n / VECTOR + VECTOR),
        .items = calloc(n, sizeof *sampler->items),
        .block_sums = calloc(n / BATON_DRAW_BLOCK + 1, sizeof *sampler->block_sums)};
    if (!sampler->penalized || !sampler->kept_logits || !sampler->kept_ids || !sampler->weights ||
        !sampler->places || !sampler->maxima || !sampler->items || !sampler->block_sums) {
        baton_sampler_destroy(sampler);
        return NULL;
    }
    return sampler;
}

void baton_sampler_destroy(struct baton_sampler *sampler)
{
    if (!sampler)
        return;
    free(sampler->penalized);
    free(sampler->kept_logits);
    free(sampler->kept_ids);
    free(sampler->weights);
    free(sampler->places);
    free(sampler->maxima);
    free(sampler->items);
    free(sampler->block_sums);
    free(sampler);
}

int baton_sampler_n_vocab(const struct baton_sampler *sampler)
{
    return (int)sampler->n_vocab;
}

/* Neither side of the last difference can be infinite, so it is never NaN; it may round to an
 * infinite float. Logits that are infinite or NaN already stay what they are. */
static float penalize_one(float logit, const struct baton_sampling_params *params,
                          uint32_t n_output)
{
    double repetition = params->repetition_penalty;
    double shaped = logit > 0 ? logit / repetition : logit * repetition;
    double subtracted = n_output * params->frequency_penalty;
    if (!isfinite(logit))
        return logit;
    if (n_output)
        subtracted += params->presence_penalty;
    shaped = fmax(-DBL_MAX, fmin(shaped, DBL_MAX));
    subtracted = fmax(-DBL_MAX, fmin(subtracted, DBL_MAX));
    return (float)(shaped - subtracted);
}

const float *baton_sampler_penalize(struct baton_sampler *sampler, const float *logits,
                                    const struct baton_sampling_params *params,
                                    const struct baton_history *history)
{
    float *row = sampler->penalized;
    size_t n_seen = history && baton_sampling_needs_history(params) ? history->n_seen : 0;
    if (!n_seen && !params->n_bias)
        return logits;
    memcpy(row, logits, sampler->n_vocab * sizeof *row);
    for (size_t i = 0; i < params->n_bias; i++)
        if (params->bias[i].id < sampler->n_vocab)
            row[params->bias[i].id] += params->bias[i].bias;
    for (size_t i = 0; i < n_seen; i++) {
        struct baton_seen seen = history->seen[i];
        if (seen.id < sampler->n_vocab)
            row[seen.id] = penalize_one(row[seen.id], params, seen.n_output);
    }
    return row;
}

bool baton_sampler_is_greedy(const struct baton_sampling_params *params, float max)
{
    return !(params->temperature > 0) || !(max > -INFINITY);
}

uint32_t baton_sampler_argmax(struct baton_sampler *sampler, const float *logits, float max)
{
    size_t n = sampler->kernels->keep(sampler->kept_logits, sampler->kept_ids, logits, NULL, max,
                                      sampler->n_vocab);
    return n && max > -INFINITY ? sampler->kept_ids[0] : 0; /* NaN is as low as -infinity */
}

uint32_t baton_sampler_pick(struct baton_sampler *sampler, const float *logits,
                            const struct baton_sampling_params *params,
                            const struct baton_history *history, uint64_t position)
{
    struct baton_shaped shaped;
    const float *penalized = baton_sampler_penalize(sampler, logits, params, history);
    float max = sampler->kernels->max(penalized, sampler->n_vocab);
    if (baton_sampler_is_greedy(params, max))
        return baton_sampler_argmax(sampler, penalized, max);
    baton_sampler_filter(sampler, penalized, max, params, &shaped);
    double uniform = baton_philox_uniform(params->seed, position);
    return baton_shaped_id(&shaped, baton_draw_place(sampler, &shaped, uniform));
}
