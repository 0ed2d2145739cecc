/* Top-k, top-p and min-p, each a lowest logit to keep: what a filter leaves is gathered, in order
 * of id, before the next one looks at it, and before any exponential is taken that nobody needs. */
#include <float.h>
#include <math.h>

#include "common/sampling/pipeline.h"

enum { GROUP = 256, GROUP_MAXIMA = 16 };

/* Division by any temperature as one finite factor: infinity times 0 would be NaN. */
static float scale_for(double temperature)
{
    return (float)fmax(FLT_MIN, fmin(1 / temperature, FLT_MAX));
}

/* Equal shares for the tokens that are as high as max; NaN is as low as -infinity. */
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

double baton_sampler_weigh(struct baton_sampler *sampler, const float *logits, size_t n, float max,
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

/* Gathers what is left. -infinity keeps everything, NaN as well. */
static void keep_from(struct baton_sampler *sampler, float least, struct baton_shaped *shaped)
{
    if (!(least > -INFINITY))
        return;
    shaped->n = sampler->kernels->keep(sampler->kept_logits, sampler->kept_ids, shaped->logits,
                                       shaped->ids, least, shaped->n);
    shaped->logits = sampler->kept_logits;
    shaped->ids = sampler->kept_ids;
}

static float kth_greatest(struct baton_sampler *sampler, const float *values, size_t n, size_t k)
{
    struct baton_item *items = sampler->items;
    for (size_t i = 0; i < n; i++)
        items[i] = (struct baton_item){baton_select_key(values[i]), 1};
    return baton_select_value(baton_select(items, n, (double)k).key);
}

/* A value that at least k logits reach: that of the k-th greatest among the maxima of disjoint
 * groups. Few others reach it, unless the greatest logits sit close together. */
static float bound_of_top_k(struct baton_sampler *sampler, const float *logits, size_t k)
{
    size_t n_maxima = (sampler->n_vocab + GROUP - 1) / GROUP * GROUP_MAXIMA;
    if (k > n_maxima || n_maxima >= sampler->n_vocab)
        return -INFINITY;
    sampler->kernels->maxima(sampler->maxima, logits, sampler->n_vocab);
    return kth_greatest(sampler, sampler->maxima, n_maxima, k);
}

static void keep_top_k(struct baton_sampler *sampler, size_t k, struct baton_shaped *shaped)
{
    if (!k || k >= shaped->n)
        return;
    keep_from(sampler, bound_of_top_k(sampler, shaped->logits, k), shaped);
    shaped->top_k_least = kth_greatest(sampler, shaped->logits, shaped->n, k);
    keep_from(sampler, shaped->top_k_least, shaped);
}

/* Makes items of the tokens that top-p may keep; returns how many. The others are so improbable
 * that all of them together fall short of what top-p leaves out. */
static size_t gather_items(struct baton_sampler *sampler, const struct baton_shaped *shaped,
                           double left_out)
{
    const double margin = 1 - 1e-6; /* of sums that are rounded */
    float least = fmaxf((float)(left_out * margin / (double)shaped->n), FLT_TRUE_MIN);
    float *weights = sampler->weights;
    const float *logits = shaped->logits;
    struct baton_item *items = sampler->items;
    size_t n = sampler->kernels->keep(weights, sampler->places, weights, NULL, least, shaped->n);
    const uint32_t *places = sampler->places;
    for (size_t i = 0; i < n; i++)
        items[i] = (struct baton_item){baton_select_key(logits[places[i]]), weights[i]};
    return n;
}

/* How many of the equal items it takes to reach wanted. */
static size_t count_needed(const struct baton_selected *selected, float weight, double wanted)
{
    double sum = selected->above + weight;
    size_t n = 1;
    for (; n < selected->n_equal && sum < wanted; n++)
        sum += weight;
    return n;
}

/* Keeps the first n of the tokens at the lowest logit that is left. */
static void keep_first_equals(struct baton_sampler *sampler, size_t n, struct baton_shaped *shaped)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < shaped->n; i++) {
        float logit = sampler->kept_logits[i];
        uint32_t id = sampler->kept_ids[i];
        bool equal = logit == shaped->top_p_least;
        sampler->kept_logits[n_kept] = logit;
        sampler->kept_ids[n_kept] = id;
        n_kept += !equal || n;
        if (equal && n && --n == 0)
            shaped->top_p_last = id;
    }
    shaped->n = n_kept;
}

static void keep_top_p(struct baton_sampler *sampler, double p, struct baton_shaped *shaped)
{
    if (!(p < 1))
        return;
    p = fmax(p, 0);
    double total =
        baton_sampler_weigh(sampler, shaped->logits, shaped->n, shaped->max, shaped->temperature);
    size_t n = gather_items(sampler, shaped, (1 - p) * total);
    struct baton_selected last = baton_select(sampler->items, n, p * total);
    size_t n_needed = count_needed(&last, sampler->items[0].weight, p * total);
    shaped->top_p_least = baton_select_value(last.key);
    keep_from(sampler, shaped->top_p_least, shaped);
    if (n_needed < last.n_equal)
        keep_first_equals(sampler, n_needed, shaped);
}

/* In logits: probability >= min_p x the highest  <=>  logit >= max + temperature ln(min_p). */
static void keep_min_p(struct baton_sampler *sampler, double min_p, struct baton_shaped *shaped)
{
    if (!(min_p > 0))
        return;
    double exact = shaped->max + shaped->temperature * log(min_p);
    float least = (float)exact;
    if (least < exact)
        least = nextafterf(least, INFINITY);
    shaped->min_p_least = fminf(least, shaped->max);
    keep_from(sampler, shaped->min_p_least, shaped);
}

void baton_sampler_filter(struct baton_sampler *sampler, const float *penalized, float max,
                          const struct baton_sampling_params *params, struct baton_shaped *shaped)
{
    *shaped = (struct baton_shaped){.max = max,
                                    .temperature = params->temperature,
                                    .logits = penalized,
                                    .n = sampler->n_vocab,
                                    .top_k_least = -INFINITY,
                                    .top_p_least = -INFINITY,
                                    .min_p_least = -INFINITY,
                                    .top_p_last = UINT32_MAX};
    keep_top_k(sampler, params->top_k, shaped);
    shaped->n_after_top_k = shaped->n;
    keep_top_p(sampler, params->top_p, shaped);
    shaped->n_after_top_p = shaped->n;
    keep_min_p(sampler, params->min_p, shaped);
    shaped->total =
        baton_sampler_weigh(sampler, shaped->logits, shaped->n, max, params->temperature);
}
