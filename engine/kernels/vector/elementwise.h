/* Elementwise operations on vectors. Part of sets/vectors.c.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_VECTOR_ELEMENTWISE_H
#define BATON_ENGINE_KERNELS_VECTOR_ELEMENTWISE_H

#include "engine/kernels/vector/vectors.h"

INLINE int n_lanes_at(size_t i, size_t n)
{
    return n - i < LANES ? (int)(n - i) : LANES;
}

static void cap_all(float *x, float cap, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        store_up_to(x + i, cap_vec(load_up_to(x + i, n_lanes_at(i, n)), cap), n_lanes_at(i, n));
}

static void clamp_all(float *x, float limit, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        store_up_to(x + i, clamp_vec(load_up_to(x + i, n_lanes_at(i, n)), -limit, limit),
                    n_lanes_at(i, n));
}

static void add_scaled(float *y, const float *x, float scale, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        int n_lanes = n_lanes_at(i, n);
        store_up_to(y + i, load_up_to(y + i, n_lanes) + load_up_to(x + i, n_lanes) * scale,
                    n_lanes);
    }
}

#endif
