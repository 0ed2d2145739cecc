/* Products with bf16 panels. Part of sets/bf16.c.
 *
 * Every element is one chain over its inputs in order: of pairs where the set has VDPBF16PS (twice
 * the speed of f32 multiply-adds on Zen 4), else of single products.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_LINEAR_BF16_H
#define BATON_ENGINE_KERNELS_LINEAR_BF16_H

#include "engine/kernels/linear/tiles.h"

/* A word is two inputs' weights of one output. It is multiplied in BF16_PARTS steps, each of which
 * reads the next 4 bytes of a quantized row. */
#if defined(__AVX512BF16__)
enum { BF16_PARTS = 1 };

INLINE reg bf16_part(const void *words, int part)
{
    (void)part;
    return load_reg(words);
}

INLINE reg add_bf16(reg sum, reg weights, const char *x)
{
    int32_t pair;
    memcpy(&pair, x, sizeof pair); /* VPBROADCASTD: unlike VBROADCASTSS it costs a load only */
    return (reg)_mm512_dpbf16_ps((__m512)sum, (__m512bh)weights, (__m512bh)_mm512_set1_epi32(pair));
}
#else
enum { BF16_PARTS = 2 };

INLINE reg bf16_part(const void *words, int part)
{
    ureg pairs = (ureg)load_reg(words);
    return (reg)(part ? pairs & 0xffff0000u : pairs << 16);
}

INLINE reg add_bf16(reg sum, reg weights, const char *x)
{
    return sum + weights * *(const float *)(const void *)x;
}
#endif

/* ---- rows ---- */

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
/* Rounds to the nearest float whose lower half is zero, ties to even, as VCVTNEPS2BF16 does. */
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

/* ---- tiles ---- */

INLINE void tile_bf16(const struct tile *tile, int n_rows)
{
    const bool few_rows = n_rows <= 2;
    reg sums[MOST_ROWS][REGS] = {0};
    struct row_cursor x = cursor_at(tile->x, tile->row_bytes, n_rows);
    const char *words = tile->panel;
    for (int k = 0; k < tile->n_in; k += 2, words += LINE_BYTES) {
        fetch_ahead(words, few_rows);
        for (int part = 0; part < BF16_PARTS; part++) {
            reg weights[REGS];
            for (int i = 0; i < REGS; i++)
                weights[i] = bf16_part(words + i * REG_BYTES, part);
            UNROLL
            for (int r = 0; r < n_rows; r++) {
                for (int i = 0; i < REGS; i++)
                    sums[r][i] = add_bf16(sums[r][i], weights[i], row_of(&x, r) + part * 4);
            }
        }
        advance(&x, BF16_PARTS * 4, n_rows);
    }
    UNROLL
    for (int r = 0; r < n_rows; r++) {
        for (int i = 0; i < REGS; i++)
            store_reg(tile->results + r * LANES + i * REG_LANES, sums[r][i]);
    }
}

TILE_TABLE(tile_bf16);

static void linear_bf16(const struct baton_linear *job, int first_out, int end_out)
{
    run_tiles(job, first_out, end_out, tile_bf16s);
}

#endif
