/* Rows of x become what quantized.h says. Part of body.h.
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

/* ---- f32 ---- */

static size_t row_bytes_f32(int n_in)
{
    return baton_quantized_row_bytes(BATON_F32, n_in);
}

static void copy_rows(const float *x, int n_in, int first_row, int end_row, void *quantized)
{
    size_t n = (size_t)n_in, first = (size_t)first_row;
    memcpy((float *)quantized + first * n, x + first * n,
           (size_t)(end_row - first_row) * n * sizeof *x);
}

/* ---- bf16 ---- */

static size_t row_bytes_bf16(int n_in)
{
    return baton_quantized_row_bytes(BATON_BF16, n_in);
}

#if defined(__AVX512BF16__)
INLINE void store_bf16(char *row, int k, reg v)
{
    __m256i rounded = (__m256i)_mm512_cvtneps_pbh((__m512)v);
    _mm256_storeu_si256((__m256i *)(void *)(row + (size_t)k * sizeof(uint16_t)), rounded);
}
#else
/* To the nearest of the floats that have nothing in their lower half, ties to even. */
INLINE void store_bf16(char *row, int k, reg v)
{
    ureg bits = (ureg)v, is_nan = (ureg)(v != v);
    ureg rounded = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    store_reg((float *)(void *)row + k, (reg)((rounded & ~is_nan) | (0x7fc00000u & is_nan)));
}
#endif

static void quantize_bf16(const float *x, int n_in, int first_row, int end_row, void *quantized)
{
    size_t row_bytes = baton_quantized_row_bytes(BATON_BF16, n_in);
    float copy[BATON_BF16_STEP];
    for (size_t row = (size_t)first_row; row < (size_t)end_row; row++)
        for (int k = 0; k < n_in; k += BATON_BF16_STEP) {
            const float *from = block_at(x + row * (size_t)n_in, k, n_in, BATON_BF16_STEP, copy);
            for (int i = 0; i < BATON_BF16_STEP; i += REG_LANES)
                store_bf16((char *)quantized + row * row_bytes, k + i, load_reg(from + i));
        }
}

/* ---- q8 ---- */

static size_t row_bytes_q8(int n_in)
{
    return baton_quantized_row_bytes(BATON_Q8, n_in);
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

/* x [n] of a group with that greatest magnitude as bytes, whose sum is returned. */
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

/* In two passes, so that many groups' chains of dependent instructions are under way at once. */
static void quantize_q8_row(const float *x, int n_in, int8_t *bytes,
                            struct baton_q8_row_group *groups)
{
    float copy[BATON_Q8_GROUP];
    for (int k = 0; k < n_in; k += BATON_Q8_GROUP)
        groups[k / BATON_Q8_GROUP].scale = most_of(block_at(x, k, n_in, BATON_Q8_GROUP, copy));
    for (int k = 0; k < n_in; k += BATON_Q8_GROUP) {
        struct baton_q8_row_group *group = &groups[k / BATON_Q8_GROUP];
        const float *from = block_at(x, k, n_in, BATON_Q8_GROUP, copy);
        group->offset = (int32_t)(-128u * store_q8(from, group->scale, BATON_Q8_GROUP, bytes + k));
        group->scale *= 1.0F / 127;
    }
}

static void quantize_q8(const float *x, int n_in, int first_row, int end_row, void *quantized)
{
    size_t row_bytes = baton_quantized_row_bytes(BATON_Q8, n_in);
    int n_stored = baton_packed_n_in(BATON_Q8, n_in);
    for (size_t row = (size_t)first_row; row < (size_t)end_row; row++) {
        char *to = (char *)quantized + row * row_bytes;
        quantize_q8_row(x + row * (size_t)n_in, n_in, (int8_t *)to, (void *)(to + n_stored));
    }
}

#endif
