/* The filters of BATON_FILTERS: filter NAME is keep_NAME. Each reduces to an interval of logits to
 * keep. The tokens that it leaves are gathered in order of id before the next filter reads them, so
 * later stages take exponentials of few logits. */
#include <float.h>
#include <math.h>

#include "engine/sampling/pipeline.h"

enum { GROUP = 256, GROUP_MAXIMA = 16, LANES = 8 };

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

/* Makes items of the tokens that top-p may keep; returns their number. All others together weigh
 * less than the share that top-p leaves out. Overwrites the weights, which are computed again after
 * the last filter. */
static size_t gather_items(struct baton_sampler *sampler, const struct baton_shaped *shaped,
                           double left_out)
{
    const double margin = 1 - 1e-6; /* for the rounding of sums */
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

/* The number of equal items that are needed to reach wanted. */
static size_t count_needed(const struct baton_selected *selected, float weight, double wanted)
{
    double sum = selected->above + weight;
    size_t n = 1;
    for (; n < selected->n_equal && sum < wanted; n++)
        sum += weight;
    return n;
}

/* Keeps the first n of the tokens at the lowest logit that is left. Every token is written and the
 * index advances only past kept ones, so the loop has no unpredictable branch. */
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
    double p = fmax(params->top_p, DBL_MIN); /* a set that reaches 0 has a token, too */
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

/* Keeps the logits that are at most this far below the highest. */
static void keep_near(struct baton_sampler *sampler, double distance, struct baton_shaped *shaped,
                      struct baton_cut *cut)
{
    double exact = shaped->max - distance;
    float least = (float)exact;
    if (least < exact) /* rounds up: no token below the exact border is kept */
        least = nextafterf(least, INFINITY);
    cut->least = fminf(least, shaped->max); /* rounding up must not remove the highest */
    keep_from(sampler, cut->least, shaped);
}

/* In logits: probability >= min_p x the highest  <=>  logit >= max + temperature ln(min_p). */
static void keep_min_p(struct baton_sampler *sampler, const struct baton_sampling_params *params,
                       struct baton_shaped *shaped, struct baton_cut *cut)
{
    if (params->min_p > 0)
        keep_near(sampler, -shaped->temperature * log(params->min_p), shaped, cut);
}

/* The standard deviation of the finite logits [n], from their differences to max: equal logits
 * deviate by exactly 0. The sums are in lanes, so no addition waits for the one before it. */
static double deviation(const float *logits, size_t n, float max)
{
    double sums[LANES] = {0}, squares[LANES] = {0}, counts[LANES] = {0};
    double sum = 0, square = 0, count = 0, centre = isfinite(max) ? max : 0;
    for (size_t i = 0; i < n; i++) {
        bool counts_in = isfinite(logits[i]);
        double difference = counts_in ? logits[i] - centre : 0;
        sums[i % LANES] += difference;
        squares[i % LANES] += difference * difference;
        counts[i % LANES] += counts_in;
    }
    for (int i = 0; i < LANES; i++) {
        sum += sums[i];
        square += squares[i];
        count += counts[i];
    }
    return count > 0 ? sqrt(fmax(0, square / count - sum / count * (sum / count))) : 0;
}

/* As the first filter it sees all logits that a mask left finite. Temperature would divide both
 * sides of the comparison, so it does not matter. */
static void keep_top_n_sigma(struct baton_sampler *sampler,
                             const struct baton_sampling_params *params,
                             struct baton_shaped *shaped, struct baton_cut *cut)
{
    if (!(params->top_n_sigma > 0))
        return;
    double sigma = deviation(shaped->logits, shaped->n, shaped->max);
    keep_near(sampler, params->top_n_sigma * sigma, shaped, cut);
}

/* With z = logit / temperature, -log p - H is the mean of z less z: the logit closest to the mean
 * of the logits, each weighed by its probability, is the most typical. */
static double mean_logit(const struct baton_sampler *sampler, const struct baton_shaped *shaped,
                         double total)
{
    double sum = 0;
    for (size_t i = 0; i < shaped->n; i++)
        if (sampler->weights[i] > 0 && shaped->logits[i] != shaped->max)
            sum += sampler->weights[i] * ((double)shaped->logits[i] - shaped->max);
    return shaped->max + sum / total;
}

/* A float, because it is the key of a selection. Infinity less itself would be NaN; it
 * is 0 here. */
static float distance_to(double mean, float logit)
{
    return logit == mean ? 0 : (float)fabs(logit - mean);
}

/* The greatest distance from the mean among the closest tokens that have p of the total. */
static float typical_distance(struct baton_sampler *sampler, const struct baton_shaped *shaped,
                              double mean, double wanted)
{
    size_t n = 0;
    for (size_t i = 0; i < shaped->n; i++) {
        float weight = sampler->weights[i], distance = distance_to(mean, shaped->logits[i]);
        if (weight > 0)
            sampler->items[n++] = (struct baton_item){baton_select_key(-distance), weight};
    }
    return -baton_select_value(baton_select(sampler->items, n, wanted).key);
}

/* Removes the tokens above cut->most; keep_from gathered the others. */
static void drop_above(struct baton_sampler *sampler, struct baton_shaped *shaped,
                       const struct baton_cut *cut)
{
    size_t n = 0;
    for (size_t i = 0; i < shaped->n; i++) {
        float logit = sampler->kept_logits[i];
        sampler->kept_logits[n] = logit;
        sampler->kept_ids[n] = sampler->kept_ids[i];
        n += logit <= cut->most;
    }
    shaped->n = n;
    shaped->max = cut->most;
}

static void keep_typical_p(struct baton_sampler *sampler,
                           const struct baton_sampling_params *params, struct baton_shaped *shaped,
                           struct baton_cut *cut)
{
    double p = params->typical_p;
    float least = INFINITY, most = -INFINITY;
    if (!(p > 0 && p < 1))
        return;
    double total =
        baton_pipeline_weigh(sampler, shaped->logits, shaped->n, shaped->max, shaped->temperature);
    double mean = mean_logit(sampler, shaped, total);
    float furthest = typical_distance(sampler, shaped, mean, p * total);
    for (size_t i = 0; i < shaped->n; i++) {
        float logit = shaped->logits[i];
        bool is_typical = distance_to(mean, logit) <= furthest;
        least = is_typical ? fminf(least, logit) : least;
        most = is_typical ? fmaxf(most, logit) : most;
    }
    cut->least = least;
    cut->most = most;
    keep_from(sampler, least, shaped);
    drop_above(sampler, shaped, cut);
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
