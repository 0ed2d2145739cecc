/* Rows of activations as the kernels read them beside packed weights; private to the kernels. A row
 * takes baton_quantized_row_bytes, the next one begins right after:
 *
 *     f32    float [n_in]; kernels that split: baton_split_row_bytes (amx_split.h draws them)
 *     bf16   bfloat16 [K] (kernels with VDPBF16PS) or the same values as float [K] (the others),
 *            K = n_in rounded up to 32, zeros past n_in
 *     q8     int8 [K], K = n_in rounded up to 64, zeros past n_in; then for each group of 64
 *            { float scale, int32 -128 * sum of its bytes }
 *
 * q8 weights are stored as byte + 128; where they are multiplied as they are, the sum takes that
 * 128 back out of the dot product. bf16 and q8 rows take an odd number of cache lines: a tile reads
 * the same column of several rows, which at a multiple of 4 KiB would share a few lines' room.
 *
 * Pure; the caller owns the memory.
 */
#ifndef BATON_KERNELS_QUANTIZED_H
#define BATON_KERNELS_QUANTIZED_H

#include "common/engine/kernels/packed.h"

struct baton_q8_row_group {
    float scale;
    int32_t offset;
};

/* Of a row of n_in inputs. */
size_t baton_quantized_row_bytes(enum baton_dtype dtype, int n_in);

/* Also an odd number of cache lines. */
static inline size_t baton_split_row_bytes(int n_in)
{
    const size_t line = 64, step_lines = 2;
    return (((size_t)n_in + BATON_BF16_STEP - 1) / BATON_BF16_STEP * step_lines | 1) * line;
}

#endif
