/* The adjustments stand in their order here, the filters in that of BATON_FILTERS. Each filter
 * comes down to an interval of logits to keep. The tokens that it leaves are gathered in order of
 * id before the next filter looks at them, so later stages take exponentials of few logits. */
#include "engine/sampling/pipeline.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/sampling/select.h"

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

/* In this order. */
static const struct adjustment {
    bool (*is_on)(const struct baton_sampling_params *params, const struct baton_history *history);
    void (*apply)(float *row, size_t n_vocab, const struct baton_sampling_params *params,
                  const struct baton_history *history);
} adjustments[] = {{has_bias, add_bias}, {has_penalties, penalize}};

enum { N_ADJUSTMENTS = BATON_N_OF(adjustments) };

/* Works on a copy: log-probabilities of the same row are those of the raw logits. */
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

/* ---- filters: they remove tokens ---- */

enum { GROUP = 256, GROUP_MAXIMA = 16 };

/* Gathers the tokens that are left. -infinity keeps all of them, even NaN. */
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
static float bound_of_top_k(struct baton_sampler *sampler, const float *logits, size_t n, size_t k)
{
    size_t n_maxima = (n + GROUP - 1) / GROUP * GROUP_MAXIMA;
    if (k > n_maxima || n_maxima >= n)
        return -INFINITY;
    sampler->kernels->maxima(sampler->maxima, logits, n);
    return kth_greatest(sampler, sampler->maxima, n_maxima, k);
}

static void keep_top_k(struct baton_sampler *sampler, const struct baton_sampling_params *params,
                       struct baton_shaped *shaped, struct baton_cut *cut)
{
    size_t k = params->top_k;
    if (!k || k >= shaped->n)
        return;
    /* The bound removes most tokens by comparisons alone, so the exact selection has few left. */
    keep_from(sampler, bound_of_top_k(sampler, shaped->logits, shaped->n, k), shaped);
    cut->least = kth_greatest(sampler, shaped->logits, shaped->n, k);
    keep_from(sampler, cut->least, shaped);
}

/* Makes items of the tokens that top-p may keep; returns how many. The others are so improbable
 * that all of them together fall short of what top-p leaves out. Overwrites the weights, which are
 * computed anew after the last filter. */
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

/* How many of the equal items are needed to reach wanted. */
static size_t count_needed(const struct baton_selected *selected, float weight, double wanted)
{
    double sum = selected->above + weight;
    size_t n = 1;
    for (; n < selected->n_equal && sum < wanted; n++)
        sum += weight;
    return n;
}

/* Keeps the first n of the tokens at the lowest logit that is left. */
static void keep_first_equals(struct baton_sampler *sampler, size_t n, struct baton_shaped *shaped,
                              struct baton_cut *cut)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < shaped->n; i++) {
        float logit = sampler->kept_logits[i];
        uint32_t id = sampler->kept_ids[i];
        bool equal = logit == cut->least;
        sampler->kept_logits[n_kept] = logit;
        sampler->kept_ids[n_kept] = id;
        n_kept += !equal || n;
        if (equal && n && --n == 0)
            cut->last = id;
    }
    shaped->n = n_kept;
}

static void keep_top_p(struct baton_sampler *sampler, const struct baton_sampling_params *params,
                       struct baton_shaped *shaped, struct baton_cut *cut)
{
    if (!(params->top_p < 1))
        return;
    double p = fmax(params->top_p, 0);
    double total =
        baton_pipeline_weigh(sampler, shaped->logits, shaped->n, shaped->max, shaped->temperature);
    size_t n = gather_items(sampler, shaped, (1 - p) * total);
    struct baton_selected last = baton_select(sampler->items, n, p * total);
    size_t n_needed = count_needed(&last, sampler->items[0].weight, p * total);
    cut->least = baton_select_value(last.key);
    keep_from(sampler, cut->least, shaped);
    if (n_needed < last.n_equal)
        keep_first_equals(sampler, n_needed, shaped, cut);
}

/* In logits: probability >= min_p x the highest  <=>  logit >= max + temperature ln(min_p). */
static void keep_min_p(struct baton_sampler *sampler, const struct baton_sampling_params *params,
                       struct baton_shaped *shaped, struct baton_cut *cut)
{
    if (!(params->min_p > 0))
        return;
    double exact = shaped->max + shaped->temperature * log(params->min_p);
    float least = (float)exact;
    if (least < exact) /* rounded up: no token below the exact border is kept */
        least = nextafterf(least, INFINITY);
    cut->least = fminf(least, shaped->max); /* rounding up must not remove the highest */
    keep_from(sampler, cut->least, shaped);
}

typedef void filter_fn(struct baton_sampler *sampler, const struct baton_sampling_params *params,
                       struct baton_shaped *shaped, struct baton_cut *cut);

static filter_fn *const filters[BATON_N_FILTERS] = {
#define X(NAME, name) keep_##name,
    BATON_FILTERS(X)
#undef X
};

void baton_pipeline_filter(struct baton_sampler *sampler, const float *adjusted, float max,
                           const struct baton_sampling_params *params, struct baton_shaped *shaped)
{
    *shaped = (struct baton_shaped){
        .max = max, .temperature = params->temperature, .logits = adjusted, .n = sampler->n_vocab};
    for (int i = 0; i < BATON_N_FILTERS; i++) {
        struct baton_cut *cut = &shaped->cuts[i];
        *cut = (struct baton_cut){.least = -INFINITY, .most = INFINITY, .last = UINT32_MAX};
        filters[i](sampler, params, shaped, cut);
        cut->n_left = shaped->n;
    }
    shaped->total =
        baton_pipeline_weigh(sampler, shaped->logits, shaped->n, shaped->max, shaped->temperature);
}

enum baton_removal baton_shaped_removal(const struct baton_shaped *shaped, float logit,
                                        uint32_t token)
{
    for (int i = 0; i < BATON_N_FILTERS; i++) {
        const struct baton_cut *cut = &shaped->cuts[i];
        if (logit < cut->least || logit > cut->most || (logit == cut->least && token > cut->last))
            return BATON_FIRST_FILTER + i;
    }
    return BATON_KEPT;
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
