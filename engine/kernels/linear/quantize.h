/* Steps that the quantization of rows of x shares between dtypes (quantized.h). Part of a set
 * (set.h).
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_LINEAR_QUANTIZE_H
#define BATON_ENGINE_KERNELS_LINEAR_QUANTIZE_H

#include "engine/kernels/pack/quantized.h"
#include "engine/kernels/vector/round.h"

/* Elements k..k + n - 1 of a row of n_in: in place, or as a copy with zeros past the row's end. */
INLINE const float *block_at(const float *x, int k, int n_in, int n, float *copy)
{
    if (n_in - k >= n)
        return x + k;
    memset(copy, 0, (size_t)n * sizeof *copy);
    memcpy(copy, x + k, (size_t)(n_in - k) * sizeof *copy);
    return copy;
}

INLINE uint32_t sum_lanes_of(ureg v)
{
    union {
        ureg whole;
        uquarter part[REG_LANES / 4];
    } lanes = {v};
    uquarter sum = lanes.part[0];
    for (int i = 1; i < REG_LANES / 4; i++)
        sum += lanes.part[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The greatest magnitude of x [64]. */
INLINE float most_of(const float *x)
{
    ireg largest = {0};
    for (int i = 0; i < BATON_Q8_GROUP; i += REG_LANES)
        largest = max_bits(magnitude_bits(load_reg(x + i)), largest);
    return max_lane_of(largest);
}

/* Stores x [n], a part of a group with that greatest magnitude, as bytes, and returns their sum. */
INLINE uint32_t store_q8(const float *x, float most, int n, int8_t *bytes)
{
    const float least = 1e-30F; /* anything smaller counts as zero */
    float inverse = most > least ? 127 / most : 0;
    ureg sum = {0};
    for (int i = 0; i < n; i += REG_LANES) {
        ureg rounded = round_reg(load_reg(x + i), inverse);
        store_bytes(bytes + i, rounded);
        sum += rounded;
    }
    return sum_lanes_of(sum);
}

#endif
