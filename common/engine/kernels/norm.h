/* Normalisation of one row. Part of body.h.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_KERNELS_NORM_H
#define BATON_KERNELS_NORM_H

#include "common/engine/kernels/vectors.h"

static float sum_of(const float *x, int n)
{
    vec sum = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        sum += load(x + i);
    return sum_lanes(sum + load_part(x + i, n - i));
}

static float sum_of_squares(const float *x, float mean, int n)
{
    vec sum = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec d = load(x + i) - mean;
        sum += d * d;
    }
    vec d = blend(lane_numbers() < (float)(n - i), load_part(x + i, n - i) - mean, splat(0));
    return sum_lanes(sum + d * d);
}

INLINE void layer_norm(float *y, const float *x, const float *weight, const float *bias, int n,
                       float epsilon)
{
    float mean = sum_of(x, n) / (float)n;
    float scale = 1.0F / sqrtf(sum_of_squares(x, mean, n) / (float)n + epsilon);
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec gained = (load(x + i) - mean) * scale * load(weight + i);
        store(y + i, bias ? gained + load(bias + i) : gained);
    }
    for (; i < n; i++) {
        float gained = (x[i] - mean) * scale * weight[i];
        y[i] = bias ? gained + bias[i] : gained;
    }
}

static void norm(enum baton_norm_kind kind, float *y, const float *x, const float *weight,
                 const float *bias, int n, float epsilon)
{
    switch (kind) {
    case BATON_LAYER_NORM:
        layer_norm(y, x, weight, bias, n, epsilon);
        break;
    }
}

#endif
