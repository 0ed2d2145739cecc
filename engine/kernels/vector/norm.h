/* Normalisation of a row, or of the heads in it. Part of sets/vectors.c.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_VECTOR_NORM_H
#define BATON_ENGINE_KERNELS_VECTOR_NORM_H

#include "engine/kernels/vector/vectors.h"

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

/* The mean of a row and the factor that normalises it. RMS norm is layer norm without the mean. */
struct moments {
    float mean, scale;
};

static struct moments moments_of(enum baton_norm_kind kind, const float *x, int n, float epsilon)
{
    float mean = kind == BATON_LAYER_NORM ? sum_of(x, n) / (float)n : 0;
    float scale = 1.0F / sqrtf(sum_of_squares(x, mean, n) / (float)n + epsilon);
    return (struct moments){mean, scale};
}

INLINE vec normalised(struct moments moments, const float *x, const float *weight,
                      const float *bias, int n)
{
    vec v = (load_up_to(x, n) - moments.mean) * moments.scale;
    if (weight)
        v *= load_up_to(weight, n);
    return bias ? v + load_up_to(bias, n) : v;
}

static void norm(enum baton_norm_kind kind, float *y, const float *x, const float *weight,
                 const float *bias, int n, float epsilon)
{
    struct moments moments = moments_of(kind, x, n, epsilon);
    for (int i = 0; i < n; i += LANES)
        store_up_to(
            y + i,
            normalised(moments, x + i, weight ? weight + i : NULL, bias ? bias + i : NULL, n - i),
            n - i);
}

static void norm_add(enum baton_norm_kind kind, float *y, const float *x, const float *weight,
                     const float *bias, int n, float epsilon)
{
    struct moments moments = moments_of(kind, x, n, epsilon);
    for (int i = 0; i < n; i += LANES) {
        vec v =
            normalised(moments, x + i, weight ? weight + i : NULL, bias ? bias + i : NULL, n - i);
        store_up_to(y + i, load_up_to(y + i, n - i) + v, n - i);
    }
}

static void norm_heads(enum baton_norm_kind kind, float *x, const float *weight,
                       size_t weight_stride, int n_heads, int head_dim, float epsilon)
{
    for (size_t h = 0; h < (size_t)n_heads; h++) {
        float *head = x + h * (size_t)head_dim;
        norm(kind, head, head, weight ? weight + h * weight_stride : NULL, NULL, head_dim, epsilon);
    }
}

#endif
