/* Products with native panels whose scales are integers; part of native.h.
 *
 * A code times its integer needs more than a byte, so it is written as two digits of a byte each.
 * Tiles sum up the products of either digit over the whole span, 64 inputs a step, and the sums are
 * scaled once, at the span's end. They are exact and scaled as native/linear.h does it, so the
 * results are the same to the bit.
 *
 *     formats with mins    code * (integer & 7) and code * (integer >> 3), both unsigned
 *     the others           the low byte of (code - zero) * integer, unsigned, and the high byte,
 *                          signed
 *
 * Pure but for the tiles of the calling thread, which the caller has configured.
 */
#ifndef BATON_ENGINE_KERNELS_AMX_SPANS_H
#define BATON_ENGINE_KERNELS_AMX_SPANS_H

#include "engine/kernels/amx/rows.h"
#include "engine/kernels/native/chunk.h"

enum {
    N_DIGITS = 2,
    MIN_DIGIT_BITS = 3, /* of the integer, in the low digit */
    DIGIT_BITS = 8,
    UNIT_BYTES = BATON_NATIVE_N_WORDS * BATON_NATIVE_WORD, /* of a digit */
    CHUNK_MOST_GROUPS = CHUNK_INPUTS / HALF_GROUP
};

/* Some units of a panel as digits, and the factors of their spans. A step is as long as a chunk. */
struct native_digits {
    _Alignas(LINE_BYTES) char words[CHUNK_UNITS][N_DIGITS][UNIT_BYTES];
    _Alignas(LINE_BYTES) float step[LANES], mins[CHUNK_MOST_GROUPS][LANES];
};

/* The product of a chunk and one tile of rows. */
struct span_pass {
    const struct native_digits *digits;
    const char *rows, *groups; /* of the rows: their bytes, their groups of 64 inputs */
    size_t row_bytes;
    float *results; /* [16][16] */
};

/* ---- digits ---- */

/* A group's integers, in both 16-bit halves of their lanes. */
INLINE __m512i both_halves(ireg integers)
{
    return (__m512i)((integers & 0xffff) | integers << 16);
}

/* The bytes of a at even places, and those of b at odd places. */
INLINE __m512i blend_bytes(__m512i a, __m512i b)
{
    enum { BY_MASK = 0xca }; /* mask ? a : b */
    return _mm512_ternarylogic_epi32(_mm512_set1_epi16(0xff), a, b, BY_MASK);
}

/* Stores word n of a unit's codes, 0..31, times integers 0..63. Both digits of an integer are at
 * most 7, so a product is at most 217 and one 16-bit multiplication does two bytes at once. */
INLINE void store_unsigned_digits(__m512i codes, __m512i integers, char words[][UNIT_BYTES], int n)
{
    const __m512i low = _mm512_and_si512(integers, _mm512_set1_epi16((1 << MIN_DIGIT_BITS) - 1)),
                  high = _mm512_srli_epi16(integers, MIN_DIGIT_BITS);
    _mm512_store_si512(words[0] + n * BATON_NATIVE_WORD, _mm512_mullo_epi16(codes, low));
    _mm512_store_si512(words[1] + n * BATON_NATIVE_WORD, _mm512_mullo_epi16(codes, high));
}

/* Stores word n of codes 0..63, less `zero`, times integers that are signed bytes; or of weights of
 * at most 62 plus 128 times integers of at most 31. VPMADDUBSW multiplies the codes of even places
 * and then those of odd places, because the integers' other bytes are 0. */
INLINE void store_signed_digits(__m512i codes, int zero, __m512i integers, char words[][UNIT_BYTES],
                                int n)
{
    const __m512i zeros = _mm512_mullo_epi16(integers, _mm512_set1_epi16((short)zero)),
                  of_even = _mm512_and_si512(integers, _mm512_set1_epi16(0xff)),
                  of_odd = _mm512_slli_epi16(integers, 8);
    const __m512i even = _mm512_sub_epi16(_mm512_maddubs_epi16(codes, of_even), zeros),
                  odd = _mm512_sub_epi16(_mm512_maddubs_epi16(codes, of_odd), zeros);
    _mm512_store_si512(words[0] + n * BATON_NATIVE_WORD,
                       blend_bytes(even, _mm512_slli_epi16(odd, 8)));
    _mm512_store_si512(words[1] + n * BATON_NATIVE_WORD,
                       blend_bytes(_mm512_srli_epi16(even, 8), odd));
}

/* Computes the digits of unit number u of a step, and prefetches the same unit of the next step. */
INLINE void fill_digits_of_unit(struct baton_native native, const uint8_t *levels, const char *step,
                                int u, struct native_digits *digits)
{
    const int n_groups = BATON_NATIVE_UNIT / native.group,
              n_words = BATON_NATIVE_N_WORDS / n_groups,
              unit_bytes = baton_native_unit_bytes(&native);
    const char *codes = step + baton_native_head_bytes(&native) + u * unit_bytes;
    const struct native_planes planes = planes_at(native, codes, 0);
    for (int i = 0; i < unit_bytes; i += LINE_BYTES)
        __builtin_prefetch(codes + i + baton_native_step_bytes(&native), 0, 2);
#pragma GCC unroll 4
    for (int g = 0; g < n_groups; g++) {
        const int of_step = u * n_groups + g;
        const __m512i integers = both_halves(native_integer(native, step, of_step, 0));
#pragma GCC unroll 8
        for (int n = g * n_words; n < (g + 1) * n_words; n++) {
            const __m512i word = (__m512i)native_word(native, levels, planes, n, 0);
            if (native.has_min)
                store_unsigned_digits(word, integers, digits->words[u], n);
            else
                store_signed_digits(word, native.zero, integers, digits->words[u], n);
        }
        if (native.has_min)
            store_reg(digits->mins[of_step], native_min(native, step, of_step, 0));
    }
}

INLINE void fill_digits(struct baton_native native, const uint8_t *levels, const char *step,
                        struct native_digits *digits)
{
    for (int u = 0; u < CHUNK_UNITS; u++)
        fill_digits_of_unit(native, levels, step, u, digits);
    store_reg(digits->step, native_step_scale(native, step, 0));
}

/* ---- a chunk times a tile of rows ---- */

/* Two spans in a row use tiles of their own, so that the second need not wait for the first. */
#define ADD_DIGITS(low_tile, high_tile, rows_tile, native, pass, unit)                             \
    do {                                                                                           \
        const char *words = (pass)->digits->words[unit][0];                                        \
        LOAD_TILE(rows_tile, (pass)->rows + (size_t)(unit)*BATON_NATIVE_UNIT, (pass)->row_bytes);  \
        LOAD_TILE(PANEL_0, words, LINE_BYTES);                                                     \
        _tile_dpbsud(low_tile, rows_tile, PANEL_0);                                                \
        LOAD_TILE(PANEL_1, words + UNIT_BYTES, LINE_BYTES);                                        \
        if ((native).has_min)                                                                      \
            _tile_dpbsud(high_tile, rows_tile, PANEL_1);                                           \
        else                                                                                       \
            _tile_dpbssd(high_tile, rows_tile, PANEL_1);                                           \
    } while (0)

#define SUM_SPAN(low_tile, high_tile, sums, native, pass, span)                                    \
    do {                                                                                           \
        const int first = (span)*baton_native_span_units(&(native));                               \
        _tile_zero(low_tile);                                                                      \
        _tile_zero(high_tile);                                                                     \
        ADD_DIGITS(low_tile, high_tile, ROWS_0, native, pass, first);                              \
        if (baton_native_span_units(&(native)) == 2)                                               \
            ADD_DIGITS(low_tile, high_tile, ROWS_1, native, pass, first + 1);                      \
        _tile_stored(low_tile, (sums)[0], LINE_BYTES);                                             \
        _tile_stored(high_tile, (sums)[1], LINE_BYTES);                                            \
    } while (0)

/* results += the span's sums [digits][16][16], scaled as native/linear.h's fold_span does it. */
INLINE void add_span_sums(struct baton_native native, vec *results, const struct span_pass *pass,
                          int span, int32_t (*sums)[TILE_ROWS][LANES])
{
    const int n_groups = BATON_NATIVE_UNIT / native.group,
              n_bits = native.has_min ? MIN_DIGIT_BITS : DIGIT_BITS;
    const float(*mins)[LANES] = pass->digits->mins + span * BATON_NATIVE_SPAN_GROUPS;
    const char *from = pass->groups + (size_t)(span * baton_native_span_units(&native)) *
                                          sizeof(struct baton_native_row_group);
    const reg step = load_reg(pass->digits->step);
    KEEP_STORES(sums);
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++, from += pass->row_bytes) {
        const struct baton_native_row_group *row = (const void *)from;
        const ireg low = *(const ireg *)(const void *)sums[0][r],
                   high = *(const ireg *)(const void *)sums[1][r];
        reg scaled = to_floats(low + (high << n_bits)) * step;
        for (int g = 0; native.has_min && g < BATON_NATIVE_SPAN_GROUPS; g++)
            scaled = fma_reg(splat_reg(minus_sum(native, row + g / n_groups, g % n_groups)),
                             load_reg(mins[g]), scaled);
        results[r] = (vec)fma_reg(scaled, splat_reg(row->scale), (reg)results[r]);
    }
}

/* Tiles sum up a span while vectors scale the span before it. */
INLINE void multiply_spans(struct baton_native native, const struct span_pass *aimed)
{
    _Alignas(LINE_BYTES) int32_t sums[2][N_DIGITS][TILE_ROWS][LANES];
    const struct span_pass pass = *aimed;
    const int n = CHUNK_UNITS / baton_native_span_units(&native); /* even */
    vec results[TILE_ROWS];
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++)
        results[r] = load(pass.results + r * LANES);
    SUM_SPAN(SUMS_00, SUMS_01, sums[0], native, &pass, 0);
    for (int span = 0; span < n; span += 2) {
        SUM_SPAN(SUMS_10, SUMS_11, sums[1], native, &pass, span + 1);
        add_span_sums(native, results, &pass, span, sums[0]);
        if (span + 2 < n)
            SUM_SPAN(SUMS_00, SUMS_01, sums[0], native, &pass, span + 2);
        add_span_sums(native, results, &pass, span + 1, sums[1]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++)
        store(pass.results + r * LANES, results[r]);
}

/* A function for each number of inputs of a span, with and without mins. */
#define SPAN_CLASS(name, n_group, mins)                                                            \
    static void multiply_##name(const struct span_pass *pass)                                      \
    {                                                                                              \
        multiply_spans((struct baton_native){.group = n_group, .has_min = mins}, pass);            \
    }
SPAN_CLASS(spans_of_64, 16, false)
SPAN_CLASS(spans_of_64_min, 16, true)
SPAN_CLASS(spans_of_128, 32, false)
SPAN_CLASS(spans_of_128_min, 32, true)

typedef void span_pass_fn(const struct span_pass *pass);

INLINE span_pass_fn *span_pass_of(struct baton_native native)
{
    if (native.group == HALF_GROUP)
        return native.has_min ? multiply_spans_of_64_min : multiply_spans_of_64;
    return native.has_min ? multiply_spans_of_128_min : multiply_spans_of_128;
}

#endif
