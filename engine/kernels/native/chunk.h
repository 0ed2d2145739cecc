/* A chunk of a native panel as bytes, with its groups' factors. All rows of a block find it in the
 * first-level cache. Part of linear.h and amx/native.h.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_NATIVE_CHUNK_H
#define BATON_ENGINE_KERNELS_NATIVE_CHUNK_H

#include "engine/kernels/native/unpack.h"
#include "engine/kernels/pack/quantized.h"

enum {
    CHUNK_UNITS = 4,
    CHUNK_INPUTS = CHUNK_UNITS * BATON_NATIVE_UNIT,
    UNIT_MOST_GROUPS = BATON_NATIVE_UNIT / HALF_GROUP
};

/* A group's scales (its integers, where four groups are a span) and mins for 16 outputs. starts are
 * minus the scaled BATON_NATIVE_START that a sum begins with: the multiply-add that scales a sum
 * subtracts it. */
struct native_factors {
    _Alignas(LINE_BYTES) float scales[LANES], starts[LANES], mins[LANES];
};

/* Some units of a panel, unpacked to weights plus 128. */
struct native_chunk {
    _Alignas(LINE_BYTES) char words[CHUNK_UNITS][BATON_NATIVE_N_WORDS][BATON_NATIVE_WORD];
    struct native_factors factors[CHUNK_UNITS][UNIT_MOST_GROUPS];
    _Alignas(LINE_BYTES) float step[LANES]; /* with spans: the scales of their sums */
};

INLINE reg fma_reg(reg a, reg b, reg c)
{
#if defined(__AVX512F__)
    return (reg)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (reg)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__) /* in all sets: which product is rounded is not left to the compiler */
    return (reg)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

/* Minus the sum of a row's bytes that are multiplied with group g of a unit. */
INLINE float minus_sum(struct baton_native native, const struct baton_native_row_group *row, int g)
{
    return native.group == HALF_GROUP ? (row->halves[g] - BATON_NATIVE_START) * 0x1p-7F
                                      : row->minus[g];
}

/* Computes the factors of a step's group g. */
INLINE void find_factors(struct baton_native native, const char *step, int g,
                         struct native_factors *factors)
{
    for (int i = 0; i < REGS; i++) {
        reg scales = native.has_spans ? to_floats(native_integer(native, step, g, i))
                                      : native_scale(native, step, g, i);
        store_reg(factors->scales + i * REG_LANES, scales);
        store_reg(factors->starts + i * REG_LANES, scales * -BATON_NATIVE_START);
        if (native.has_min)
            store_reg(factors->mins + i * REG_LANES, native_min(native, step, g, i));
    }
}

/* Unpacks n_units units of a panel from input k on, and prefetches the units of the next chunk. */
INLINE void fill_chunk(struct baton_native native, const uint8_t *levels, const char *panel, int k,
                       int n_units, struct native_chunk *chunk)
{
    const int n_step = baton_native_step(&native), n_groups = BATON_NATIVE_UNIT / native.group,
              unit_bytes = baton_native_unit_bytes(&native),
              share = baton_native_unit_share(&native);
    for (int u = 0; u < n_units; u++, k += BATON_NATIVE_UNIT) {
        const char *step = panel + (size_t)(k / n_step) * (size_t)baton_native_step_bytes(&native);
        const int number = k % n_step / BATON_NATIVE_UNIT;
        const char *codes = step + baton_native_head_bytes(&native) + number * unit_bytes;
        const struct native_planes planes = planes_at(native, codes, 0);
        for (int i = 0; i < share; i += LINE_BYTES)
            __builtin_prefetch(step + (number + CHUNK_UNITS) * share + i, 0, 2);
        for (int i = 0; i < REGS; i++)
#pragma GCC unroll 16
            for (int n = 0; n < BATON_NATIVE_N_WORDS; n++)
                store_reg((void *)(chunk->words[u][n] + i * REG_BYTES),
                          (reg)native_word_over_128(native, levels, planes, n, i));
        for (int g = 0; g < n_groups; g++)
            find_factors(native, step, number * n_groups + g, &chunk->factors[u][g]);
        for (int i = 0; native.has_spans && i < REGS; i++)
            store_reg(chunk->step + i * REG_LANES, native_step_scale(native, step, i));
    }
}

#endif
