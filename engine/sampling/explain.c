#include <math.h>

#include "engine/sampling/philox.h"
#include "engine/sampling/pipeline.h"

/* exp((logit - max) / temperature) over its total, for rows before any filter. */
struct softmax {
    float max;
    double temperature, total;
};

static float without_nan(float logit)
{
    return isnan(logit) ? -INFINITY : logit;
}

static struct softmax softmax_of(struct baton_sampler *sampler, const float *logits,
                                 double temperature)
{
    float max = sampler->kernels->max(logits, sampler->n_vocab);
    double total = baton_pipeline_weigh(sampler, logits, sampler->n_vocab, max, temperature);
    return (struct softmax){.max = max, .temperature = temperature, .total = total};
}

static double log_weight(float logit, float max, double temperature)
{
    return logit == max ? 0 : ((double)logit - max) / temperature;
}

static double probability(const struct softmax *softmax, float logit)
{
    return exp(log_weight(logit, softmax->max, softmax->temperature)) / softmax->total;
}

/* The n tokens with the highest logits, highest first, the lowest id of equals first. */
static void find_top(const float *logits, size_t n_vocab, int n, uint32_t *top)
{
    float least = -INFINITY;
    int n_found = 0;
    for (size_t id = 0; n > 0 && id < n_vocab; id++) {
        if (n_found == n && !(logits[id] > least))
            continue;
        float logit = without_nan(logits[id]);
        int at = n_found < n ? n_found++ : n - 1;
        for (; at > 0 && logit > without_nan(logits[top[at - 1]]); at--)
            top[at] = top[at - 1];
        top[at] = (uint32_t)id;
        least = without_nan(logits[top[n_found - 1]]);
    }
}

static uint32_t rank_of(const float *logits, size_t n_vocab, uint32_t token)
{
    float own = without_nan(logits[token]);
    uint32_t rank = 1;
    for (size_t id = 0; id < n_vocab; id++)
        rank += logits[id] > own;
    for (size_t id = 0; id < token; id++)
        rank += logits[id] == own;
    return rank;
}

/* The index of a kept token among the kept ones: their ids ascend. */
static size_t place_of(const struct baton_shaped *shaped, uint32_t token)
{
    size_t low = 0, high = shaped->n;
    if (!shaped->ids)
        return token;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (shaped->ids[middle] <= token)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The inputs for describing the candidates of one decision. */
struct scene {
    const struct baton_sampler *sampler;
    const struct baton_sampling_params *params;
    const float *raw_logits, *adjusted, *allowed; /* allowed: after the mask */
    struct softmax raw, unfiltered;
    struct baton_shaped shaped;
    bool greedy;
};

static enum baton_removal removal_of(const struct scene *scene, float adjusted, uint32_t token)
{
    if (!baton_sampler_allows(scene->sampler, token))
        return scene->sampler->holds_stops && baton_sampling_params_is_stop(scene->params, token)
                   ? BATON_REMOVED_BY_MIN_TOKENS
                   : BATON_REMOVED_BY_GRAMMAR;
    return baton_shaped_removal(&scene->shaped, adjusted, token);
}

static struct baton_candidate describe(const struct scene *scene, uint32_t token)
{
    const struct baton_shaped *shaped = &scene->shaped;
    float raw = without_nan(scene->raw_logits[token]);
    float adjusted = without_nan(scene->adjusted[token]);
    struct baton_candidate candidate = {.token = token,
                                        .logit = raw,
                                        .logit_penalized = adjusted,
                                        .prob_raw = probability(&scene->raw, raw),
                                        .prob_shaped = probability(&scene->unfiltered, adjusted),
                                        .removed_by = removal_of(scene, adjusted, token)};
    if (candidate.removed_by != BATON_KEPT)
        return candidate;
    size_t place = place_of(shaped, token);
    candidate.prob = scene->sampler->weights[place] / shaped->total;
    if (!scene->greedy)
        baton_pipeline_interval(scene->sampler, shaped, place, &candidate.interval_begin,
                                &candidate.interval_end);
    return candidate;
}

/* With weights w = exp(z): -sum p log p = log(total) - sum(w z) / total. */
static double entropy_bits(const struct baton_sampler *sampler, const struct baton_shaped *shaped)
{
    double sum = 0;
    for (size_t i = 0; i < shaped->n; i++)
        if (sampler->weights[i] > 0)
            sum += sampler->weights[i] *
                   log_weight(without_nan(shaped->logits[i]), shaped->max, shaped->temperature);
    return fmax(0, (log(shaped->total) - sum / shaped->total) / log(2));
}

/* Chooses as pick does, and keeps the candidates of the choice. The order counts: each softmax
 * overwrites the sampler's weights, which must be those of the filtered row at the end. */
static uint32_t choose(struct baton_sampler *sampler, const struct baton_sampling_params *params,
                       struct scene *scene, double uniform)
{
    const struct baton_sampling_params plain = {BATON_SAMPLING_DEFAULTS};
    float max = sampler->kernels->max(scene->allowed, sampler->n_vocab);
    scene->greedy = baton_pipeline_is_greedy(params, max);
    if (scene->greedy)
        params = &plain;
    uint32_t best = baton_pipeline_argmax(sampler, scene->allowed, max);
    scene->raw = softmax_of(sampler, scene->raw_logits, 1);
    scene->unfiltered = softmax_of(sampler, scene->adjusted, params->temperature);
    baton_pipeline_filter(sampler, scene->allowed, max, params, &scene->shaped);
    if (scene->greedy)
        return best;
    return baton_shaped_id(&scene->shaped, baton_pipeline_draw(sampler, &scene->shaped, uniform));
}

uint32_t baton_sampler_explain(struct baton_sampler *sampler, const float *logits,
                               const struct baton_sampling_params *params,
                               const struct baton_history *history, uint64_t position,
                               int n_candidates, struct baton_decision *decision)
{
    uint32_t top[BATON_MAX_LISTED];
    double uniform = baton_philox_uniform(params->seed, position);
    struct scene scene = {.sampler = sampler, .params = params, .raw_logits = logits};
    scene.adjusted = baton_pipeline_adjust(sampler, logits, params, history);
    scene.allowed = baton_pipeline_mask(sampler, scene.adjusted);
    uint32_t token = choose(sampler, params, &scene, uniform);
    int n = n_candidates < BATON_MAX_LISTED ? n_candidates : BATON_MAX_LISTED;
    n = sampler->n_vocab < (size_t)n ? (int)sampler->n_vocab : n;
    *decision = (struct baton_decision){.greedy = scene.greedy,
                                        .chosen = describe(&scene, token),
                                        .rank = rank_of(scene.adjusted, sampler->n_vocab, token),
                                        .draw = scene.greedy ? 0 : uniform,
                                        .entropy_bits = entropy_bits(sampler, &scene.shaped),
                                        .n_candidates = n};
    for (int i = 0; i < BATON_N_FILTERS; i++)
        decision->n_after[i] = (uint32_t)scene.shaped.cuts[i].n_left;
    find_top(scene.adjusted, sampler->n_vocab, n, top);
    for (int i = 0; i < n; i++)
        decision->candidates[i] = describe(&scene, top[i]);
    return token;
}

double baton_sampler_logprobs(struct baton_sampler *sampler, const float *logits, uint32_t token,
                              int n_top, struct baton_logprob *top)
{
    uint32_t ids[BATON_MAX_LISTED];
    struct softmax softmax = softmax_of(sampler, logits, 1);
    double log_total = log(softmax.total);
    find_top(logits, sampler->n_vocab, n_top, ids);
    for (int i = 0; i < n_top; i++)
        top[i] = (struct baton_logprob){
            ids[i], log_weight(without_nan(logits[ids[i]]), softmax.max, 1) - log_total};
    return log_weight(without_nan(logits[token]), softmax.max, 1) - log_total;
}

uint32_t baton_sampler_rank(const struct baton_sampler *sampler, const float *logits,
                            uint32_t token)
{
    return rank_of(logits, sampler->n_vocab, token);
}
