/* Attention of one query row over the blocks of its sequence. Part of body.h. */
#ifndef BATON_KERNELS_ATTEND_H
#define BATON_KERNELS_ATTEND_H

#include "common/engine/kernels/vectors.h"
#include "common/engine/kv.h"

enum { MANY_BLOCKS = 4, MANY_CHUNKS = 4 };
_Static_assert(LANES == (int)BATON_KV_BLOCK_TOKENS, "a lane is a slot of a block");

static const float *block_of(const struct baton_attend *job, int index)
{
    return job->layer + (size_t)job->blocks[index] * job->block_floats;
}

/* Scores of n_blocks whole blocks from `first`: 16 positions a vector, summed over D in order. */
INLINE void score_blocks(const struct baton_attend *job, int first, int n_blocks)
{
    const float *k[MANY_BLOCKS];
    vec acc[MANY_BLOCKS] = {0};
    for (int b = 0; b < n_blocks; b++)
        k[b] = block_of(job, first + b) + job->k_offset;
    for (int d = 0; d < job->head_dim; d++)
        for (int b = 0; b < n_blocks; b++)
            acc[b] += job->q[d] * load(k[b] + d * LANES);
    for (int b = 0; b < n_blocks; b++)
        store(job->scores + (first + b) * LANES, acc[b] * job->scale);
}

/* Fills scores and returns their maximum; slots past the last position become -infinity. */
static float score_all(const struct baton_attend *job)
{
    int n_blocks = baton_kv_blocks_for(job->n_positions), b = 0;
    for (; b + MANY_BLOCKS <= n_blocks; b += MANY_BLOCKS)
        score_blocks(job, b, MANY_BLOCKS);
    for (; b < n_blocks; b++)
        score_blocks(job, b, 1);
    float *last = job->scores + (n_blocks - 1) * LANES;
    float n_valid = (float)(job->n_positions - (n_blocks - 1) * LANES);
    store(last, blend(lane_numbers() < n_valid, load(last), splat(-INFINITY)));
    vec max = load(job->scores);
    for (b = 1; b < n_blocks; b++) {
        vec scores = load(job->scores + b * LANES);
        max = blend(scores > max, scores, max);
    }
    return max_lanes(max);
}

/* Scores become weights that are not yet divided by their sum, which is returned. */
static float weigh_all(const struct baton_attend *job, float max)
{
    vec sum = {0};
    for (int i = 0; i < job->n_positions; i += LANES) {
        vec weights = exp_vec(load(job->scores + i) - max);
        store(job->scores + i, weights);
        sum += weights;
    }
    return sum_lanes(sum);
}

/* out[first..] = scale * sum over positions of weight * V, for n_chunks whole vectors of D. */
INLINE void mix_chunks(const struct baton_attend *job, int first, int n_chunks, float scale)
{
    vec acc[MANY_CHUNKS] = {0};
    for (int p = 0; p < job->n_positions; p += LANES) {
        const float *v = block_of(job, p / LANES) + job->v_offset + first;
        int n_slots = job->n_positions - p < LANES ? job->n_positions - p : LANES;
        for (int slot = 0; slot < n_slots; slot++)
            for (int c = 0; c < n_chunks; c++)
                acc[c] += job->scores[p + slot] * load(v + slot * job->head_dim + c * LANES);
    }
    for (int c = 0; c < n_chunks; c++)
        store(job->out + first + c * LANES, acc[c] * scale);
}

/* The same for the n < 16 last elements of D. */
static void mix_rest(const struct baton_attend *job, int first, int n, float scale)
{
    vec acc = {0};
    for (int p = 0; p < job->n_positions; p++) {
        const float *v = block_of(job, p / LANES) + job->v_offset + first;
        acc += job->scores[p] * load_part(v + p % LANES * job->head_dim, n);
    }
    store_part(job->out + first, acc * scale, n);
}

static void attend(const struct baton_attend *job)
{
    float scale = 1.0F / weigh_all(job, score_all(job));
    int d = 0;
    for (; d + MANY_CHUNKS * LANES <= job->head_dim; d += MANY_CHUNKS * LANES)
        mix_chunks(job, d, MANY_CHUNKS, scale);
    for (; d + 2 * LANES <= job->head_dim; d += 2 * LANES)
        mix_chunks(job, d, 2, scale);
    for (; d + LANES <= job->head_dim; d += LANES)
        mix_chunks(job, d, 1, scale);
    if (d < job->head_dim)
        mix_rest(job, d, job->head_dim - d, scale);
}

#endif
