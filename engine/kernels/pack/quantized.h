/* Rows of activations as the kernels read them beside packed weights; private to the kernels. A row
 * takes baton_quantized_row_bytes, the next one begins right after:
 *
 *     f32    float [n_in]; kernels that split: baton_split_row_bytes (amx/split.h draws them)
 *     bf16   bfloat16 [K] (kernels with VDPBF16PS) or the same values as float [K] (the others),
 *            K = n_in rounded up to 32, zeros past n_in
 *     q8     int8 [K], K = n_in rounded up to 64, zeros past n_in; then for each group of 64
 *            { float scale, int32 -128 * sum of its bytes }
 *     f16    float [n_in], as f32 without splitting
 *     blocks of any type (panels.h): int8 [K], K = n_in rounded up to 256, zeros past n_in, the
 *            same bytes as q8's; then for each group of 64 a struct baton_native_row_group. For
 *            q4_k and q5_k two groups have one scale
 *
 * q8 weights are stored as byte + 128; where they are multiplied as they are, the sum takes that
 * 128 back out of the dot product. All rows but those of floats take an odd number of cache lines:
 * a tile reads the same column of several rows, which at a multiple of 4 KiB would share a few
 * lines' room.
 *
 * Pure; the caller owns the memory.
 */
#ifndef BATON_ENGINE_KERNELS_PACK_QUANTIZED_H
#define BATON_ENGINE_KERNELS_PACK_QUANTIZED_H

#include "engine/kernels/pack/packed.h"

struct baton_q8_row_group {
    float scale;
    int32_t offset;
};

enum { HALF_GROUP = 16 }; /* the least inputs that share a scale of weights */

/* What a sum of products begins with: the bits of this float are an integer that products are added
 * to, and stay those of the float plus the sum while that is below 2^22. */
#define BATON_NATIVE_START 0x1.8p23F

/* Sums of a group's bytes. 128 times those take out of a sum of products the 128 that weights are
 * stored with; the others are what weights' mins are multiplied by. */
struct baton_native_row_group {
    float scale;
    float starts[2]; /* BATON_NATIVE_START - 128 * the sum of 32 bytes each */
    float minus[2];  /* minus that sum */
    float halves[4]; /* BATON_NATIVE_START - 128 * the sum of 16 bytes each */
};

/* Bytes of a row's inputs, which its groups follow. */
static inline int baton_native_row_inputs(int n_in)
{
    const int step = 256;
    return (n_in + step - 1) / step * step;
}

/* Also an odd number of cache lines. */
static inline size_t baton_native_row_bytes(int n_in)
{
    const size_t line = 64, n = (size_t)baton_native_row_inputs(n_in);
    size_t n_bytes = n + n / BATON_Q8_GROUP * sizeof(struct baton_native_row_group);
    return ((n_bytes + line - 1) / line | 1) * line;
}

/* Of a row of n_in inputs. */
size_t baton_quantized_row_bytes(enum baton_dtype dtype, int n_in);

/* Also an odd number of cache lines. */
static inline size_t baton_split_row_bytes(int n_in)
{
    const size_t line = 64, step_lines = 2;
    return (((size_t)n_in + BATON_BF16_STEP - 1) / BATON_BF16_STEP * step_lines | 1) * line;
}

#endif
