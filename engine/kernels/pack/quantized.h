/* Rows of activations as the kernels multiply them with packed weights; private to the kernels. A
 * row has baton_quantized_row_bytes bytes, and the next one begins right after it:
 *
 *     f32    float [n_in]; in AMX's kernels split rows of baton_split_row_bytes (amx/split.h)
 *     bf16   bfloat16 [K] (kernels with VDPBF16PS) or the same values as float [K] (the others),
 *            K = n_in rounded up to 32, zeros past n_in
 *     q8     int8 [K], K = n_in rounded up to 64, zeros past n_in; then for each group of 64
 *            { float scale, int32 -128 * sum of its bytes }
 *     f16    float [n_in], as f32 without splitting
 *     blocks of any type (native_panels.h): int8 [K], K = n_in rounded up to 256, zeros past n_in,
 *            the same bytes as q8's; then for each group of 64 a struct baton_native_row_group. For
 *            q4_k and q5_k two groups have one scale
 *
 * q8 weights are stored as byte + 128. Kernels that multiply these bytes unchanged subtract 128
 * times the sum of the row's bytes from the dot product. All rows but those of floats have an odd
 * number of cache lines: a tile reads the same column of several rows, which at a stride of 4 KiB
 * would compete for the few lines of one set of the cache.
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

/* The start of a sum of products. Products are added to the bits of this float as to an integer;
 * the result is the bits of the float plus the sum while the sum's magnitude is below 2^22. So a
 * sum needs no conversion from integers. */
#define BATON_NATIVE_START 0x1.8p23F

/* Sums of a group's bytes. starts and halves subtract from a sum of products the 128 that weights
 * are stored with; minus is multiplied by the weights' mins. */
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

/* Bytes of a row, also an odd number of cache lines. */
static inline size_t baton_native_row_bytes(int n_in)
{
    const size_t line = 64, n = (size_t)baton_native_row_inputs(n_in);
    size_t n_bytes = n + n / BATON_Q8_GROUP * sizeof(struct baton_native_row_group);
    return ((n_bytes + line - 1) / line | 1) * line;
}

/* Bytes of a row of n_in inputs. */
size_t baton_quantized_row_bytes(enum baton_dtype dtype, int n_in);

/* Bytes of a split row, also an odd number of cache lines. */
static inline size_t baton_split_row_bytes(int n_in)
{
    const size_t line = 64, step_lines = 2;
    return (((size_t)n_in + BATON_BF16_STEP - 1) / BATON_BF16_STEP * step_lines | 1) * line;
}

#endif
