#include "engine/compute/moe/route.h"

#include <math.h>

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

void baton_moe_route(const struct baton_moe_spec *moe, const float *logits, int *experts,
                     float *weights)
{
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
