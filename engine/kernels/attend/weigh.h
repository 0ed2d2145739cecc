/* Queries, steps of positions, and the weights of scores by online softmax: a query's state is its
 * greatest score so far and, relative to that, the sum of its weights and its mixture of values.
 * Part of sets/attention.c and sets/amx.c.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_ATTEND_WEIGH_H
#define BATON_ENGINE_KERNELS_ATTEND_WEIGH_H

#include "engine/kernels/vector/vectors.h"

enum {
    STEP_BLOCKS = 4,
    STEP = STEP_BLOCKS * LANES,           /* positions; steps begin at multiples of it */
    TILE = ALL_REG_BYTES == 2048 ? 6 : 2, /* queries at most, and for each of them */
    SPAN = ALL_REG_BYTES == 2048  ? 4     /* vectors, whose sums fit the registers */
           : ALL_REG_BYTES == 512 ? 2
                                  : 1
};
_Static_assert(LANES == (int)BATON_KV_BLOCK_TOKENS, "a lane is a slot of a block");
_Static_assert(STEP == (int)BATON_ATTEND_STEP, "the values of a step fit its scratch");

/* One head's K and V of the step's blocks, and the K that is read next. */
struct kv_step {
    const char *k[STEP_BLOCKS], *v[STEP_BLOCKS], *next[STEP_BLOCKS];
    const uint16_t *scales[STEP_BLOCKS]; /* q8: of K [16], of V [16] */
    int head_dim, n_latent;
    size_t key_elements, value_elements; /* D', and that of V */
    float scale, score_cap;
    bool fetches; /* whether to prefetch V, and K of `next` */
};

struct query {
    const float *q;      /* [D] */
    float *mixed;        /* [D'] */
    float *sum, *max;    /* [16], whose lanes are added up at the end; [1] */
    int first_seen;      /* it attends to positions first_seen..n_seen - 1 of this step */
    int n_seen;          /* 1..STEP */
    float weights[STEP]; /* scores at first */

    /* q8 */
    int16_t *words;        /* [D'], q / (*q_scale / the scores' scale) */
    float *q_scale;        /* [1] */
    int16_t rounded[STEP]; /* weights * scales of V / weight_scale */
    float weight_scale;
};

/* Makes the state relative to a new greatest score: the old sum and mixture are scaled down. */
static void raise_max(struct query *query, size_t value_elements, float max)
{
    float factor = exp_reg(*query->max - max - (reg){0})[0];
    store(query->sum, load(query->sum) * factor);
    for (size_t d = 0; d < value_elements; d += LANES)
        store(query->mixed + d, load(query->mixed + d) * factor);
    *query->max = max;
}

/* Sets the scores of positions that the query does not see to -infinity, which makes their weights
 * 0, so that sums over whole vectors need no mask. Returns the first vector. */
INLINE int hide_scores(struct query *query, int n_vecs)
{
    int first = query->first_seen / LANES;
    for (int i = first * LANES; i < query->first_seen; i++)
        query->weights[i] = -INFINITY;
    for (int i = query->n_seen; i < n_vecs * LANES; i++)
        query->weights[i] = -INFINITY;
    return first;
}

/* Replaces scores by weights. It is not inlined, because with -ffp-contract=fast the compiler might
 * round copies differently, and a query's bits must not depend on the size of its tile. */
static __attribute__((noinline)) void weigh_scores(struct query *query, const struct kv_step *step)
{
    int n_vecs = (query->n_seen + LANES - 1) / LANES;
    if (step->score_cap > 0)
        for (int i = query->first_seen / LANES * LANES; i < n_vecs * LANES; i += LANES)
            store(query->weights + i, cap_vec(load(query->weights + i), step->score_cap));
    int first = hide_scores(query, n_vecs);
    union vec_regs max = {splat(*query->max)};
    for (int i = first * REGS; i < n_vecs * REGS; i += REGS)
        for (int j = 0; j < REGS; j++) {
            reg scores = *(unaligned_reg *)(query->weights + (i + j) * REG_LANES);
            max.part[j] = MAX_OF(reg, ireg, scores, max.part[j]);
        }
    float greatest = max_lanes(max.whole);
    if (greatest > *query->max) /* seldom after the first steps: then nothing is scaled */
        raise_max(query, step->value_elements, greatest);
    union vec_regs sum = {load(query->sum)};
    for (int i = first * REGS; i < n_vecs * REGS; i += REGS)
        for (int j = 0; j < REGS; j++) {
            unaligned_reg *weights = (unaligned_reg *)(query->weights + (i + j) * REG_LANES);
            *weights = exp_reg(*weights - *query->max);
            sum.part[j] += *weights;
        }
    store(query->sum, sum.whole);
}

#endif
