/* Attention of some queries to the K and V of one step of positions, by online softmax (weigh.h).
 * Part of sets/attention.c.
 *
 * Queries of a tile share the loads of K and V and nothing else: a query's operations and their
 * order are the same alone. Numbers of queries, vectors and blocks are constants at each call of
 * the INLINE functions, so that their loops unroll and acc lives in registers.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_ATTEND_TILE_H
#define BATON_ENGINE_KERNELS_ATTEND_TILE_H

#include "engine/kernels/attend/kv_element.h"
#include "engine/kernels/attend/q8.h"

/* Prefetches into the second-level cache. A single row waits for memory more than it computes, and
 * the loop after this one reads several pages; the hardware's prefetching starts late in each. */
INLINE void fetch_kv(enum baton_kv_dtype dtype, const char *p, size_t index)
{
    __builtin_prefetch(p + index * baton_kv_element_bytes(dtype), 0, 2);
}

/* Scores of the positions of n_blocks blocks from `first` on, summed over D in order. */
INLINE void score(enum baton_kv_dtype dtype, const struct kv_step *step, struct query *queries,
                  int n_queries, int first, int n_blocks)
{
    reg acc[TILE][SPAN * REGS] = {0};
    /* A block has K as [D][16]: a load reads one element of 16 positions, so a score needs no sum
     * across lanes. V, which is read next, may be prefetched meanwhile. */
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

/* Adds weight * V of positions first..end-1, in order, to n_vecs vectors of the mixtures. */
INLINE void mix(enum baton_kv_dtype dtype, const struct kv_step *step, struct query *queries,
                int n_queries, size_t d, int n_vecs, int first, int end)
{
    reg acc[TILE][SPAN * REGS];
    /* A block has V as [16][D']: here a lane is an element of the head, and a weight is the same
     * for all lanes. The next step's K may be prefetched meanwhile. */
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
    if (dtype == BATON_KV_Q8) {
        attend_queries_q8(step, queries, n_queries);
        return;
    }
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

/* The queries of the next tile, of n that are left. No tile has five: they are three and two. */
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
    else if (dtype == BATON_KV_Q8)
        attend_some(BATON_KV_Q8, step, queries, n_queries);
    else
        attend_some(BATON_KV_F32, step, queries, n_queries);
}

#endif
