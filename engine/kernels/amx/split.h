/* Floats as sums of two bfloat16: the nearest one, and the one nearest to the rest. At most 2^-16
 * of the number is lost. Infinities become NaN: their rest is infinity - infinity. Part of
 * sets/amx.c.
 *
 *     rows      [K/32] { 32 high parts, 32 low parts }, K = n_in rounded up to 32, zeros past n_in
 *     weights   [K/32] { [16]{16 x 2} high parts, [16]{16 x 2} low parts }: a step of a panel as
 *               tiles, whose rows hold two inputs' weights of 16 outputs
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_AMX_SPLIT_H
#define BATON_ENGINE_KERNELS_AMX_SPLIT_H

#include "engine/kernels/amx/tiles.h"

enum {
    SPLIT_STEP = BATON_BF16_STEP,
    SPLIT_ROW_STEP_BYTES = 2 * LINE_BYTES,
    SPLIT_PANEL_STEP_BYTES = 2 * TILE_BYTES
};

/* ---- rows ---- */

/* Splits 16 numbers; the low parts are stored a line behind the high ones. */
INLINE void split_vec(char *to, vec v)
{
    __m256i high = (__m256i)_mm512_cvtneps_pbh((__m512)v);
    vec rounded = (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16);
    _mm256_storeu_si256((__m256i *)(void *)to, high);
    _mm256_storeu_si256((__m256i *)(void *)(to + LINE_BYTES),
                        (__m256i)_mm512_cvtneps_pbh((__m512)(v - rounded)));
}

static void split_rows(const float *x, int n_in, int first_row, int end_row, void *quantized)
{
    const size_t row_bytes = baton_split_row_bytes(n_in);
    for (size_t row = (size_t)first_row; row < (size_t)end_row; row++) {
        const float *from = x + row * (size_t)n_in;
        char *to = (char *)quantized + row * row_bytes;
        for (int k = 0; k < n_in; k += SPLIT_STEP, to += SPLIT_ROW_STEP_BYTES) {
            split_vec(to, load_up_to(from + k, n_in - k));
            split_vec(to + LINE_BYTES / 2, load_up_to(from + k + LANES, n_in - k - LANES));
        }
    }
}

/* ---- weights ---- */

/* Splits two inputs' weights of 16 outputs; the low parts are stored a tile behind the high ones.
 * VCVTNE2PS2BF16 puts one input's weights behind the other's, and by_output interleaves them. */
INLINE void split_pair(char *to, vec first, vec second)
{
    const __m512i by_output =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512i high = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
    high = _mm512_permutexvar_epi16(by_output, high);
    first -= (vec)_mm512_slli_epi32(high, 16);
    second -= (vec)_mm512_and_si512(high, _mm512_set1_epi32((int)0xffff0000));
    __m512i low = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
    _mm512_store_si512(to, high);
    _mm512_store_si512(to + TILE_BYTES, _mm512_permutexvar_epi16(by_output, low));
}

/* Splits n inputs of a panel into tiles, with zeros up to the end of a step. */
static void split_panel(const float *panel, int n, bool fetches, char *to)
{
    const char *ahead = (const char *)panel + FETCH_AHEAD;
    for (int k = 0; k < n; k += SPLIT_STEP, to += TILE_BYTES)
        for (int i = k; i < k + SPLIT_STEP; i += 2, to += LINE_BYTES) {
            const float *at = panel + (size_t)i * LANES;
            if (fetches) {
                __builtin_prefetch(ahead + (size_t)i * LINE_BYTES, 0, 2);
                __builtin_prefetch(ahead + (size_t)i * LINE_BYTES + LINE_BYTES, 0, 2);
            }
            split_pair(to, i < n ? load(at) : splat(0), i + 1 < n ? load(at + LANES) : splat(0));
        }
}

#endif
