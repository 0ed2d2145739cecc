/* q8 weights times bytes of two rows at once, by SMMLA, a product of [2][8] and [8][2], which is
 * twice as many products as an SDOT does. Part of a set; MULTIPLIES_PAIRS says whether the set's
 * CPUs have SMMLA. The sums are exact, so they are those of dot_q8.h.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_LINEAR_DOT_PAIRS_H
#define BATON_ENGINE_KERNELS_LINEAR_DOT_PAIRS_H

#include "engine/kernels/linear/dot_q8.h"
#include "engine/kernels/linear/tiles.h"

#if defined(USES_NEON) && defined(__ARM_FEATURE_MATMUL_INT8)
#define MULTIPLIES_PAIRS 1
enum { N_PAIRS = (MOST_ROWS + 1) / 2 };

/* Sums of a pair of rows r and s; a register has those of two outputs: [r][o], [r][o + 1], [s][o],
 * [s][o + 1]. */
typedef int32x4_t pair_sums[2 * REGS];

/* Eight bytes of each row of a pair. A last row without a partner is paired with itself, and the
 * second sum is not read. */
INLINE int8x16_t load_pair(const struct row_cursor *x, int pair, int at, int n_rows)
{
    const int first = 2 * pair, second = first + 1 < n_rows ? first + 1 : first;
    return vcombine_s8(vld1_s8((const void *)(row_of(x, first) + at)),
                       vld1_s8((const void *)(row_of(x, second) + at)));
}

/* Adds the products of eight inputs: two words of weights, which are interleaved so that the eight
 * bytes of an output are contiguous as SMMLA needs them. */
INLINE void add_words_to_pairs(pair_sums pairs[N_PAIRS], const char *words,
                               const struct row_cursor *x, int at, int n_rows)
{
    int8x16_t in[N_PAIRS];
    UNROLL
    for (int p = 0; 2 * p < n_rows; p++)
        in[p] = load_pair(x, p, at, n_rows);
    UNROLL
    for (int i = 0; i < REGS; i++) {
        int32x4_t near = (int32x4_t)load_q8(words + i * REG_BYTES).bytes;
        int32x4_t far = (int32x4_t)load_q8(words + LINE_BYTES + i * REG_BYTES).bytes;
        int8x16_t low = (int8x16_t)vzip1q_s32(near, far), high = (int8x16_t)vzip2q_s32(near, far);
        UNROLL
        for (int p = 0; 2 * p < n_rows; p++) {
            pairs[p][2 * i] = vmmlaq_s32(pairs[p][2 * i], in[p], low);
            pairs[p][2 * i + 1] = vmmlaq_s32(pairs[p][2 * i + 1], in[p], high);
        }
    }
}

/* Row r's sums for the i-th register of outputs. */
INLINE q8_sum sum_of_row(pair_sums pairs[N_PAIRS], int r, int i)
{
    int64x2_t low = (int64x2_t)pairs[r / 2][2 * i], high = (int64x2_t)pairs[r / 2][2 * i + 1];
    return (q8_sum)(r % 2 ? vzip2q_s64(low, high) : vzip1q_s64(low, high));
}

/* sums [rows][REGS] of n_inputs inputs, a multiple of 8. */
INLINE void sum_pairs(q8_sum sums[][REGS], const char *words, int n_inputs,
                      const struct row_cursor *x, int n_rows)
{
    pair_sums pairs[N_PAIRS] = {0};
#pragma GCC unroll 1
    for (int n = 0; n < n_inputs; n += 8, words += 2 * LINE_BYTES) {
        __builtin_prefetch(words + FETCH_FAR, 0, 2);
        add_words_to_pairs(pairs, words, x, n, n_rows);
    }
    UNROLL
    for (int r = 0; r < n_rows; r++)
        for (int i = 0; i < REGS; i++)
            sums[r][i] = sum_of_row(pairs, r, i);
}
#else
#define MULTIPLIES_PAIRS 0
#endif

#endif
