/* Rotary position embedding of one row's heads (Su et al., "RoFormer"). Part of
 * sets/vectors.c.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_VECTOR_ROPE_H
#define BATON_ENGINE_KERNELS_VECTOR_ROPE_H

#include "engine/kernels/vector/vectors.h"

INLINE void turn_pairs(float *first, float *second, const float *cosines, const float *sines, int n)
{
    vec a = load_up_to(first, n), b = load_up_to(second, n);
    vec c = load_up_to(cosines, n), s = load_up_to(sines, n);
    store_up_to(first, a * c - b * s, n);
    store_up_to(second, b * c + a * s, n);
}

static void rope(float *x, const float *cosines, const float *sines, int n_heads, int head_dim,
                 int n_rotated)
{
    const int n_pairs = n_rotated / 2;
    for (int h = 0; h < n_heads; h++, x += head_dim)
        for (int i = 0; i < n_pairs; i += LANES)
            turn_pairs(x + i, x + n_pairs + i, cosines + i, sines + i, n_pairs - i);
}

#endif
