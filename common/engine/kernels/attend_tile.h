/* Some queries against the K and V of one step of positions, by online softmax: what a query has
 * seen so far is its greatest score and, relative to that, the sum of its weights and its mixture
 * of values. Part of body.h.
 *
 * Queries of a tile share the loads of K and V and nothing else: a query's operations and their
 * order are the same alone. Numbers of queries, vectors and blocks are constants at each call of
 * the INLINE functions, so that their loops unroll and acc lives in registers.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_KERNELS_ATTEND_TILE_H
#define BATON_KERNELS_ATTEND_TILE_H

#include "common/engine/kernels/kv_element.h"

enum {
    STEP_BLOCKS = 4,
    STEP = STEP_BLOCKS * LANES,           /* positions; steps begin at multiples of it */
    TILE = ALL_REG_BYTES == 2048 ? 6 : 2, /* queries at most, and for each of them */
    SPAN = ALL_REG_BYTES == 2048  ? 4     /* vectors, whose sums fit the registers */
           : ALL_REG_BYTES == 512 ? 2
                                  : 1
};
_Static_assert(LANES == (int)BATON_KV_BLOCK_TOKENS, "a lane is a slot of a block");

/* One head's K and V of the step's blocks, and the K that will be wanted next. */
struct kv_step {
    const char *k[STEP_BLOCKS], *v[STEP_BLOCKS], *next[STEP_BLOCKS];
    int head_dim;
    size_t value_elements;
    float scale, score_cap;
    bool fetches; /* asks for what is read next */
};

struct query {
    const float *q;      /* [D] */
    float *mixed;        /* [D'] */
    float *sum, *max;    /* [16], to be added up in the end; [1] */
    int first_seen;      /* it looks at positions first_seen..n_seen - 1 of this step */
    int n_seen;          /* 1..STEP */
    float weights[STEP]; /* scores at first */
};

/* Into the second level: a row alone waits for memory more than it computes, and what the loop
 * after this one reads is several pages, each of which the hardware would notice late. */
INLINE void fetch_kv(enum baton_kv_dtype dtype, const char *p, size_t index)
{
    __builtin_prefetch(p + index * baton_kv_element_bytes(dtype), 0, 2);
}

/* Scores of the positions of n_blocks blocks from `first` on, summed over D in order. */
INLINE void score(enum baton_kv_dtype dtype, const struct kv_step *step, struct query *queries,
                  int n_queries, int first, int n_blocks)
{
    reg acc[TILE][SPAN * REGS] = {0};
    /* A block holds K as [D][16]: a load takes one element of 16 positions, so a score needs no sum
     * across lanes. V may be asked for meanwhile, which is read next. */
    for (int d = 0; d < step->head_dim; d++) {
        reg k[SPAN * REGS];
        for (int i = 0; i < n_blocks * REGS; i++)
            k[i] = load_kv(dtype, step->k[first + i / REGS],
                           (size_t)(d * LANES + i % REGS * REG_LANES));
        for (int b = 0; b < n_blocks && step->fetches; b++)
            fetch_kv(dtype, step->v[first + b], (size_t)(d * LANES));
        for (int r = 0; r < n_queries; r++)
            for (int i = 0; i < n_blocks * REGS; i++)
                acc[r][i] += queries[r].q[d] * k[i];
    }
    for (int r = 0; r < n_queries; r++)
        for (int i = 0; i < n_blocks * REGS; i++)
            *(unaligned_reg *)(queries[r].weights + first * LANES + i * REG_LANES) =
                acc[r][i] * step->scale;
}

INLINE void score_all(enum baton_kv_dtype dtype, const struct kv_step *step, struct query *queries,
                      int n_queries)
{
    /* The first query begins the earliest, the last one ends the latest. A query is also scored for
     * blocks it does not see; weigh_scores drops those scores. */
    int n_blocks = (queries[n_queries - 1].n_seen + LANES - 1) / LANES;
    int b = queries[0].first_seen / LANES;
    for (; b + SPAN <= n_blocks; b += SPAN)
        score(dtype, step, queries, n_queries, b, SPAN);
    for (; b < n_blocks; b++)
        score(dtype, step, queries, n_queries, b, 1);
}

/* What was seen before shrinks when a greater score comes. */
static void raise_max(struct query *query, size_t value_elements, float max)
{
    float factor = exp_reg(*query->max - max - (reg){0})[0];
    store(query->sum, load(query->sum) * factor);
    for (size_t d = 0; d < value_elements; d += LANES)
        store(query->mixed + d, load(query->mixed + d) * factor);
    *query->max = max;
}

/* Scores that the query does not see become -infinity and their weights 0, so that sums over whole
 * vectors need no mask. Returns the first vector. */
INLINE int hide_scores(struct query *query, int n_vecs)
{
    int first = query->first_seen / LANES;
    for (int i = first * LANES; i < query->first_seen; i++)
        query->weights[i] = -INFINITY;
    for (int i = query->n_seen; i < n_vecs * LANES; i++)
        query->weights[i] = -INFINITY;
    return first;
}

/* Scores become weights. Not inlined: so it is compiled in one way for tiles of any size. */
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

/* Adds weight * V of positions first..end-1, in order, to n_vecs vectors of the mixtures. */
INLINE void mix(enum baton_kv_dtype dtype, const struct kv_step *step, struct query *queries,
                int n_queries, size_t d, int n_vecs, int first, int end)
{
    reg acc[TILE][SPAN * REGS];
    /* V lies as [16][D']: here a lane is an element of the head, and a weight is the same for all
     * lanes. The next step's K may be asked for meanwhile. */
    for (int r = 0; r < n_queries; r++)
        for (int i = 0; i < n_vecs * REGS; i++)
            acc[r][i] = *(unaligned_reg *)(queries[r].mixed + d + i * REG_LANES);
    for (int p = first; p < end; p++) {
        size_t row = (size_t)(p % LANES) * step->value_elements + d;
        reg v[SPAN * REGS];
        for (int i = 0; i < n_vecs * REGS; i++)
            v[i] = load_kv(dtype, step->v[p / LANES], row + (size_t)(i * REG_LANES));
        for (int i = 0; i < n_vecs && step->fetches; i++)
            fetch_kv(dtype, step->next[p / LANES], row + (size_t)(i * LANES));
        for (int r = 0; r < n_queries; r++)
            for (int i = 0; i < n_vecs * REGS; i++)
                acc[r][i] += queries[r].weights[p] * v[i];
    }
    for (int r = 0; r < n_queries; r++)
        for (int i = 0; i < n_vecs * REGS; i++)
            *(unaligned_reg *)(queries[r].mixed + d + i * REG_LANES) = acc[r][i];
}

INLINE void mix_all(enum baton_kv_dtype dtype, const struct kv_step *step, struct query *queries,
                    int n_queries, int first, int end)
{
    size_t d = 0;
    for (; d + SPAN * LANES <= step->value_elements; d += SPAN * LANES)
        mix(dtype, step, queries, n_queries, d, SPAN, first, end);
    for (; d < step->value_elements; d += LANES)
        mix(dtype, step, queries, n_queries, d, 1, first, end);
}

/* A later query begins and ends no earlier. Loads of V are shared for the positions that all
 * queries see; each sees its own before and after them, in order. Slots that a query does not see
 * may hold anything, and are not even multiplied by 0. */
INLINE void attend_queries(enum baton_kv_dtype dtype, const struct kv_step *step,
                           struct query *queries, int n_queries)
{
    int first = queries[n_queries - 1].first_seen, end = queries[0].n_seen;
    if (end < first) /* a narrow window: no position is common to all */
        end = first;
    score_all(dtype, step, queries, n_queries);
    for (int r = 0; r < n_queries; r++)
        weigh_scores(&queries[r], step);
    for (int r = 0; r < n_queries - 1; r++)
        if (queries[r].first_seen < first)
            mix_all(dtype, step, &queries[r], 1, queries[r].first_seen,
                    queries[r].n_seen < first ? queries[r].n_seen : first);
    if (first < end)
        mix_all(dtype, step, queries, n_queries, first, end);
    for (int r = 1; r < n_queries; r++)
        if (end < queries[r].n_seen)
            mix_all(dtype, step, &queries[r], 1, end, queries[r].n_seen);
}

/* As many queries at once as there is a tile for, of n that are left: five are three and two. */
INLINE int tile_queries(int n)
{
    return n >= TILE ? TILE : n == 5 ? 3 : n;
}

INLINE void attend_some(enum baton_kv_dtype dtype, const struct kv_step *step,
                        struct query *queries, int n_queries)
{
    _Static_assert(TILE == 2 || TILE == 6, "one case for each");
    if (n_queries == TILE)
        attend_queries(dtype, step, queries, TILE);
    else if (TILE == 6 && n_queries == 4)
        attend_queries(dtype, step, queries, TILE * 2 / 3);
    else if (TILE == 6 && n_queries == 3)
        attend_queries(dtype, step, queries, TILE / 2);
    else if (TILE == 6 && n_queries == 2)
        attend_queries(dtype, step, queries, TILE / 3);
    else
        attend_queries(dtype, step, queries, 1);
}

static void attend_tile(enum baton_kv_dtype dtype, const struct kv_step *step,
                        struct query *queries, int n_queries)
{
    if (dtype == BATON_KV_F16)
        attend_some(BATON_KV_F16, step, queries, n_queries);
    else
        attend_some(BATON_KV_F32, step, queries, n_queries);
}

#endif
