#include "engine/compute/moe/route.h"

#include <math.h>
#include <string.h>

/* The rank of a logit among the n chosen so far; an equal one of a lower id stays before it. A NaN
 * compares false, so it never moves ahead, and ids stay distinct. */
static int rank_of(const float *logits, const int *experts, int n, float logit)
{
    while (n && logit > logits[experts[n - 1]])
        n--;
    return n;
}

static void choose(const struct baton_moe_spec *moe, const float *logits, int *experts)
{
    int n = 0, k = moe->n_chosen;
    for (int e = 0; e < moe->n_experts; e++) {
        int rank = rank_of(logits, experts, n, logits[e]);
        if (rank == k)
            continue;
        n = n < k ? n + 1 : k;
        for (int i = n - 1; i > rank; i--)
            experts[i] = experts[i - 1];
        experts[rank] = e;
    }
}

static float sum_all(const struct baton_moe_spec *moe, const float *logits, float most)
{
    float sum = 0;
    for (int e = 0; e < moe->n_experts; e++)
        sum += expf(logits[e] - most);
    return sum;
}

/* ---- by scores ---- */

static bool goes_by_scores(const struct baton_moe_spec *moe)
{
    return moe->has_sigmoid || moe->has_score_bias || moe->n_groups > 1 || moe->scale != 0;
}

static void score_all(const struct baton_moe_spec *moe, const float *logits, float *scores)
{
    int n = moe->n_experts;
    float most = -INFINITY, sum = 0;
    for (int e = 0; e < n; e++)
        most = logits[e] > most ? logits[e] : most;
    for (int e = 0; e < n; e++) {
        scores[e] = moe->has_sigmoid ? 1 / (1 + expf(-logits[e])) : expf(logits[e] - most);
        sum += scores[e];
    }
    for (int e = 0; !moe->has_sigmoid && e < n; e++)
        scores[e] /= sum;
}

/* How good a group of n experts is. */
static float rate_group(const struct baton_moe_spec *moe, const float *scores, int n)
{
    float first = -INFINITY, second = -INFINITY;
    for (int i = 0; i < n; i++)
        if (scores[i] > first) {
            second = first;
            first = scores[i];
        } else if (scores[i] > second) {
            second = scores[i];
        }
    return moe->sums_pairs && n > 1 ? first + second : first;
}

/* Sets the scores of all groups but the best to 0. */
static void drop_groups(const struct baton_moe_spec *moe, float *scores)
{
    int n = moe->n_experts / moe->n_groups, kept[BATON_MAX_EXPERTS];
    float ratings[BATON_MAX_EXPERTS];
    bool is_kept[BATON_MAX_EXPERTS] = {false};
    const struct baton_moe_spec groups = {.n_experts = moe->n_groups, .n_chosen = moe->n_kept};
    for (int g = 0; g < moe->n_groups; g++)
        ratings[g] = rate_group(moe, scores + (size_t)g * (size_t)n, n);
    choose(&groups, ratings, kept);
    for (int i = 0; i < moe->n_kept; i++)
        is_kept[kept[i]] = true;
    for (int g = 0; g < moe->n_groups; g++)
        if (!is_kept[g])
            memset(scores + (size_t)g * (size_t)n, 0, (size_t)n * sizeof *scores);
}

static void route_by_scores(const struct baton_moe_spec *moe, const float *logits,
                            const float *bias, int *experts, float *weights)
{
    float scores[BATON_MAX_EXPERTS], rated[BATON_MAX_EXPERTS], sum = 0;
    score_all(moe, logits, scores);
    for (int e = 0; e < moe->n_experts; e++)
        rated[e] = scores[e] + (bias ? bias[e] : 0);
    if (moe->n_groups > 1)
        drop_groups(moe, rated);
    choose(moe, rated, experts);
    for (int i = 0; i < moe->n_chosen; i++)
        sum += scores[experts[i]];
    float scale = moe->scale != 0 ? moe->scale : 1;
    for (int i = 0; i < moe->n_chosen; i++)
        weights[i] = scores[experts[i]] / (moe->renormalises ? sum + 1e-20F : 1) * scale;
}

void baton_moe_route(const struct baton_moe_spec *moe, const float *logits, const float *bias,
                     int *experts, float *weights)
{
    if (goes_by_scores(moe)) {
        route_by_scores(moe, logits, bias, experts, weights);
        return;
    }

    choose(moe, logits, experts);
    float most = logits[experts[0]], sum = 0; /* subtracted, so that expf cannot overflow */
    for (int i = 0; i < moe->n_chosen; i++) {
        weights[i] = expf(logits[experts[i]] - most);
        sum += weights[i];
    }
    if (!moe->renormalises)
        sum = sum_all(moe, logits, most);
    for (int i = 0; i < moe->n_chosen; i++)
        weights[i] /= sum;
}
