/* The stages around the filters: adjustments, in their order here, weights, the draw. */
#include "engine/sampling/pipeline.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "common/base/array.h"

/* ---- adjustments: they change logits ---- */

static bool has_bias(const struct baton_sampling_params *params,
                     const struct baton_history *history)
{
    (void)history;
    return params->n_bias > 0;
}

static void add_bias(float *row, size_t n_vocab, const struct baton_sampling_params *params,
                     const struct baton_history *history)
{
    (void)history;
    for (size_t i = 0; i < params->n_bias; i++)
        if (params->bias[i].id < n_vocab)
            row[params->bias[i].id] += params->bias[i].bias;
}

static bool has_penalties(const struct baton_sampling_params *params,
                          const struct baton_history *history)
{
    return history && history->n_seen && baton_sampling_needs_history(params);
}

/* Both sides of the last difference are finite, so it is never NaN; it may round to an infinite
 * float. Logits that are infinite or NaN already stay as they are. */
static float penalize_one(float logit, const struct baton_sampling_params *params,
                          uint32_t n_output)
{
    double repetition = params->repetition_penalty;
    /* Division would raise a negative logit, so that one is multiplied. */
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

static void penalize(float *row, size_t n_vocab, const struct baton_sampling_params *params,
                     const struct baton_history *history)
{
    for (size_t i = 0; i < history->n_seen; i++) {
        struct baton_seen seen = history->seen[i];
        if (seen.id < n_vocab)
            row[seen.id] = penalize_one(row[seen.id], params, seen.n_output);
    }
}

/* Applied in this order: a bias counts as part of the logit that penalties scale. */
static const struct adjustment {
    bool (*is_on)(const struct baton_sampling_params *params, const struct baton_history *history);
    void (*apply)(float *row, size_t n_vocab, const struct baton_sampling_params *params,
                  const struct baton_history *history);
} adjustments[] = {{has_bias, add_bias}, {has_penalties, penalize}};

enum { N_ADJUSTMENTS = BATON_N_OF(adjustments) };

/* Works on a copy: the log-probabilities of the same row come from the raw logits. */
const float *baton_pipeline_adjust(struct baton_sampler *sampler, const float *logits,
                                   const struct baton_sampling_params *params,
                                   const struct baton_history *history)
{
    float *row = sampler->adjusted;
    bool is_copied = false;
    for (int i = 0; i < N_ADJUSTMENTS; i++) {
        if (!adjustments[i].is_on(params, history))
            continue;
        if (!is_copied)
            memcpy(row, logits, sampler->n_vocab * sizeof *row);
        is_copied = true;
        adjustments[i].apply(row, sampler->n_vocab, params, history);
    }
    return is_copied ? row : logits;
}

static void mask_block(float *to, const float *from, size_t n, uint64_t mask)
{
    if (mask == UINT64_MAX)
        memcpy(to, from, n * sizeof *to);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = mask >> i & 1 ? from[i] : -INFINITY;
}

const float *baton_pipeline_mask(struct baton_sampler *sampler, const float *adjusted)
{
    size_t n_vocab = sampler->n_vocab;
    if (!sampler->mask)
        return adjusted;
    for (size_t i = 0; i < n_vocab; i += 64)
        mask_block(sampler->masked + i, adjusted + i, n_vocab - i < 64 ? n_vocab - i : 64,
                   sampler->mask[i / 64]);
    return sampler->masked;
}

bool baton_pipeline_is_greedy(const struct baton_sampling_params *params, float max)
{
    return !(params->temperature > 0) || !(max > -INFINITY);
}

/* The lowest id of those that reach max. */
uint32_t baton_pipeline_argmax(struct baton_sampler *sampler, const float *logits, float max)
{
    size_t n = sampler->kernels->keep(sampler->kept_logits, sampler->kept_ids, logits, NULL, max,
                                      sampler->n_vocab);
    return n && max > -INFINITY ? sampler->kept_ids[0] : 0; /* NaN is as low as -infinity */
}

/* ---- weights ---- */

/* Division by any temperature as one factor, which must be finite: infinity times 0 would be
 * NaN. */
static float scale_for(double temperature)
{
    return (float)fmax(FLT_MIN, fmin(1 / temperature, FLT_MAX));
}

/* Gives equal weights to the tokens as high as max, since infinity less infinity is NaN. With a max
 * of -infinity all tokens are equal; NaN is as low. */
static double weigh_infinite(float *weights, const float *logits, size_t n, float max)
{
    size_t n_equal = 0;
    for (size_t i = 0; i < n; i++) {
        bool equal = logits[i] == max || max < 0;
        weights[i] = equal;
        n_equal += equal;
    }
    return (double)n_equal;
}

double baton_pipeline_weigh(struct baton_sampler *sampler, const float *logits, size_t n, float max,
                            double temperature)
{
    float scale = scale_for(temperature);
    double total = 0;
    for (size_t i = 0; i < n; i += BATON_DRAW_BLOCK) {
        size_t n_block = n - i < BATON_DRAW_BLOCK ? n - i : BATON_DRAW_BLOCK;
        float *weights = sampler->weights + i;
        double sum = isinf(max) ? weigh_infinite(weights, logits + i, n_block, max)
                                : sampler->kernels->weigh(weights, logits + i, max, scale, n_block);
        sampler->block_sums[i / BATON_DRAW_BLOCK] = sum;
        total += sum;
    }
    return total;
}

/* ---- the draw ----
 *
 * The tokens' intervals of [0, 1) lie in order of id, and a number falls into one of them. An
 * interval begins at the sum of the weights before its token, divided by the total. The sum goes
 * block by block, then weight by weight, so that the draw skips whole blocks. Both functions
 * compute borders with the same operations, so they agree to the last bit. */

struct block {
    size_t first, end;   /* places */
    double begin, limit; /* sums before and after it; weights one by one may round past the limit */
};

static struct block block_at(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                             size_t index, double begin)
{
    size_t first = index * BATON_DRAW_BLOCK, rest = shaped->n - first;
    return (struct block){.first = first,
                          .end = first + (rest < BATON_DRAW_BLOCK ? rest : BATON_DRAW_BLOCK),
                          .begin = begin,
                          .limit = begin + sampler->block_sums[index]};
}

/* The last block that has weight and begins at or before uniform. */
static struct block find_block(const struct baton_sampler *sampler,
                               const struct baton_shaped *shaped, double uniform)
{
    struct block found = {0};
    double sum = 0;
    for (size_t i = 0; i * BATON_DRAW_BLOCK < shaped->n && sum / shaped->total <= uniform; i++) {
        if (sampler->block_sums[i] > 0)
            found = block_at(sampler, shaped, i, sum);
        sum += sampler->block_sums[i];
    }
    return found;
}

size_t baton_pipeline_draw(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                           double uniform)
{
    struct block block = find_block(sampler, shaped, uniform);
    double sum = block.begin;
    size_t chosen = block.first;
    for (size_t i = block.first; i < block.end; i++) {
        if (!(sampler->weights[i] > 0))
            continue;
        if (fmin(sum, block.limit) / shaped->total > uniform)
            break;
        chosen = i;
        sum += sampler->weights[i];
    }
    return chosen;
}

void baton_pipeline_interval(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                             size_t place, double *begin, double *end)
{
    double sum = 0;
    for (size_t i = 0; i < place / BATON_DRAW_BLOCK; i++)
        sum += sampler->block_sums[i];
    struct block block = block_at(sampler, shaped, place / BATON_DRAW_BLOCK, sum);
    for (size_t i = block.first; i < place; i++)
        sum += sampler->weights[i];
    *begin = *end = fmin(sum, block.limit) / shaped->total;
    if (!(sampler->weights[place] > 0))
        return;
    size_t next = place + 1;
    while (next < block.end && !(sampler->weights[next] > 0))
        next++;
    sum = next < block.end ? fmin(sum + sampler->weights[place], block.limit) : block.limit;
    *end = sum / shaped->total;
}
