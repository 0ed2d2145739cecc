/* Products with native panels; part of sets/native_*.c. spans.h has those of the formats whose
 * scales are integers.
 *
 * A tile step of the other formats is a group of 32 inputs: its integer sums, exact in any order,
 * are added to a float's bits and scaled as native/linear.h does it, so the results are the same to
 * the bit. Such a step takes the tile unit as long as one of 64 inputs would.
 *
 * Pure but for the tiles of the calling thread, which are configured here.
 */
#ifndef BATON_ENGINE_KERNELS_AMX_NATIVE_H
#define BATON_ENGINE_KERNELS_AMX_NATIVE_H

#include "engine/kernels/amx/rows.h"
#include "engine/kernels/amx/spans.h"
#include "engine/kernels/native/chunk.h"

enum { NATIVE_PANELS = 4 /* whose results are written together */ };

/* A chunk of a panel on its way through a block of rows, and the results of all tiles so far. */
struct native_strip {
    union {
        struct native_chunk chunk;
        struct native_digits digits;
    };
    _Alignas(LINE_BYTES) float results[BLOCK_MAX_TILES][NATIVE_PANELS][TILE_FLOATS];
};

/* The product of the chunk and one tile of rows. */
struct native_pass {
    const struct native_chunk *chunk;
    const char *rows, *groups; /* of the rows: their bytes, their groups of 64 inputs */
    size_t row_bytes;
    int n_units;
    float *results; /* [16][16] */
};

/* Two groups in a row use tiles of their own, so that the second need not wait for the first. */
#define SUM_NATIVE(sums, sums_tile, rows_tile, panel_tile, pass, n_inputs, group)                  \
    do {                                                                                           \
        const size_t at = (size_t)(group) * (size_t)(n_inputs);                                    \
        _tile_zero(sums_tile);                                                                     \
        LOAD_TILE(rows_tile, (pass)->rows + at, (pass)->row_bytes);                                \
        LOAD_TILE(panel_tile, (pass)->chunk->words[0][0] + at * LANES, LINE_BYTES);                \
        _tile_dpbssd(sums_tile, rows_tile, panel_tile);                                            \
        _tile_stored(sums_tile, sums, LINE_BYTES);                                                 \
    } while (0)

/* results += the group's sums, scaled as native/linear.h's fold_group does it. */
INLINE void add_group_native(struct baton_native native, vec *results,
                             const struct native_pass *pass, int group,
                             const int32_t (*sums)[LANES])
{
    const int n_groups = BATON_NATIVE_UNIT / native.group, unit = group / n_groups,
              of_unit = group % n_groups;
    const struct native_factors *factors = &pass->chunk->factors[unit][of_unit];
    const reg scales = load_reg(factors->scales), starts = load_reg(factors->starts),
              mins = load_reg(factors->mins);
    const char *from = pass->groups + (size_t)unit * sizeof(struct baton_native_row_group);
    const ireg start = (ireg)splat_reg(BATON_NATIVE_START);
    KEEP_STORES(sums);
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++, from += pass->row_bytes) {
        const struct baton_native_row_group *row = (const void *)from;
        reg sum = (reg)(*(const ireg *)(const void *)sums[r] + start);
        reg scaled = fma_reg(sum, scales, starts);
        if (native.has_min)
            scaled = fma_reg(splat_reg(minus_sum(native, row, of_unit)), mins, scaled);
        results[r] = (vec)fma_reg(scaled, splat_reg(row->scale), (reg)results[r]);
    }
}

/* Tiles sum up a group while vectors scale the group before it. */
INLINE void multiply_native(struct baton_native native, const struct native_pass *aimed)
{
    _Alignas(LINE_BYTES) int32_t sums[2][TILE_ROWS][LANES];
    const struct native_pass pass = *aimed;
    const int n = pass.n_units * BATON_NATIVE_UNIT / native.group; /* even */
    vec results[TILE_ROWS];
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++)
        results[r] = load(pass.results + r * LANES);
    SUM_NATIVE(sums[0], SUMS_00, ROWS_0, PANEL_0, &pass, native.group, 0);
    for (int group = 0; group < n; group += 2) {
        SUM_NATIVE(sums[1], SUMS_01, ROWS_1, PANEL_1, &pass, native.group, group + 1);
        add_group_native(native, results, &pass, group, sums[0]);
        if (group + 2 < n)
            SUM_NATIVE(sums[0], SUMS_00, ROWS_0, PANEL_0, &pass, native.group, group + 2);
        add_group_native(native, results, &pass, group + 1, sums[1]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++)
        store(pass.results + r * LANES, results[r]);
}

/* One function with and one without mins, and one for groups of 16 inputs without spans. */
#define NATIVE_CLASS(name, n_group, mins)                                                          \
    static void multiply_##name(const struct native_pass *pass)                                    \
    {                                                                                              \
        multiply_native((struct baton_native){.group = n_group, .has_min = mins}, pass);           \
    }
NATIVE_CLASS(of_16, 16, false)
NATIVE_CLASS(of_32, 32, false)
NATIVE_CLASS(of_32_min, 32, true)

typedef void native_pass_fn(const struct native_pass *pass);

INLINE native_pass_fn *pass_of(struct baton_native native)
{
    if (native.group == HALF_GROUP)
        return multiply_of_16;
    return native.has_min ? multiply_of_32_min : multiply_of_32;
}

/* Subtracts from the weights of a chunk the 128 that they are stored with: TDPBSSD multiplies
 * signed bytes. */
static void sign_words(struct native_chunk *chunk, int n_units)
{
    const __m512i sign = _mm512_set1_epi8(-128);
    for (int i = 0; i < n_units * BATON_NATIVE_N_WORDS; i++) {
        char *word = chunk->words[0][0] + (size_t)i * BATON_NATIVE_WORD;
        _mm512_store_si512(word, _mm512_xor_si512(_mm512_load_si512(word), sign));
    }
}

/* A chunk from input k of a panel on, which is number p of the strip, times tiles
 * first_tile..end_tile-1. */
INLINE void add_chunk_native(struct baton_native native, struct native_strip *strip,
                             const uint8_t *levels, const struct baton_linear *job,
                             const struct row_tiles *tiles, int first_tile, int end_tile,
                             const char *panel, int k, int p)
{
    const struct baton_packed *w = job->weights;
    const int n_left = baton_packed_n_in(w->dtype, w->n_in) - k;
    const size_t groups_at =
        (size_t)baton_native_row_inputs(w->n_in) +
        (size_t)(k / BATON_NATIVE_UNIT) * sizeof(struct baton_native_row_group);
    const int n_units = (n_left < CHUNK_INPUTS ? n_left : CHUNK_INPUTS) / BATON_NATIVE_UNIT;
    struct native_pass pass = {
        .chunk = &strip->chunk, .row_bytes = tiles->row_bytes, .n_units = n_units};
    fill_chunk(native, levels, panel, k, pass.n_units, &strip->chunk);
    sign_words(&strip->chunk, pass.n_units);
    for (int tile = first_tile; tile < end_tile; tile++) {
        const char *rows = rows_of(tiles, tile);
        pass.rows = rows + k;
        pass.groups = rows + groups_at;
        pass.results = strip->results[tile - first_tile][p];
        pass_of(native)(&pass);
    }
}

/* The same with a panel whose steps have spans; such a step is as long as a chunk. */
INLINE void add_chunk_spans(struct baton_native native, struct native_strip *strip,
                            const uint8_t *levels, const struct baton_linear *job,
                            const struct row_tiles *tiles, int first_tile, int end_tile,
                            const char *panel, int k, int p)
{
    const size_t chunk = (size_t)(k / CHUNK_INPUTS);
    struct span_pass pass = {.digits = &strip->digits, .row_bytes = tiles->row_bytes};
    fill_digits(native, levels, panel + chunk * (size_t)baton_native_step_bytes(&native),
                &strip->digits);
    for (int tile = first_tile; tile < end_tile; tile++) {
        const char *rows = rows_of(tiles, tile);
        pass.rows = rows + k;
        pass.groups = rows + baton_native_row_inputs(job->weights->n_in) +
                      chunk * CHUNK_UNITS * sizeof(struct baton_native_row_group);
        pass.results = strip->results[tile - first_tile][p];
        span_pass_of(native)(&pass);
    }
}

/* Up to NATIVE_PANELS panels, from output out on, times tiles first_tile..end_tile-1. */
INLINE void panels_native(struct baton_native native, struct native_strip *strip,
                          const uint8_t *levels, const struct baton_linear *job,
                          const struct row_tiles *tiles, int first_tile, int end_tile, int out,
                          int end_out)
{
    const struct baton_packed *w = job->weights;
    const size_t panel_bytes = baton_packed_panel_bytes(w->dtype, w->n_in);
    const int n_stored = baton_packed_n_in(w->dtype, w->n_in);
    const char *panel = (const char *)w->data + (size_t)(out / BATON_PANEL) * panel_bytes;
    memset(strip->results, 0, (size_t)(end_tile - first_tile) * sizeof strip->results[0]);
    for (int o = out, p = 0; o < end_out; o += LANES, p++, panel += panel_bytes)
        for (int k = 0; k < n_stored; k += CHUNK_INPUTS)
            if (native.has_spans)
                add_chunk_spans(native, strip, levels, job, tiles, first_tile, end_tile, panel, k,
                                p);
            else
                add_chunk_native(native, strip, levels, job, tiles, first_tile, end_tile, panel, k,
                                 p);
    finish_tiles(job, tiles, first_tile, end_tile - first_tile, out, end_out, strip->results[0][0],
                 NATIVE_PANELS);
}

/* For at least as many rows as a tile has: sets/amx.c gives fewer to vectors. */
INLINE void multiply_tiles(struct baton_native native, const struct baton_linear *job,
                           int first_out, int end_out)
{
    const size_t row_bytes = baton_native_row_bytes(job->weights->n_in);
    const struct row_tiles tiles = cut_rows(job, row_bytes, row_bytes);
    const int n_outs = NATIVE_PANELS * LANES;
    uint8_t of_codes[16];
    const uint8_t *levels = baton_native_levels(&native, of_codes);
    struct native_strip strip;
    configure_tiles(tiles.height, (native.has_spans ? BATON_NATIVE_UNIT : native.group) / 4);
    for (int tile = 0, end; tile < tiles.n_tiles; tile = end) {
        end = end_of_block(&tiles, tile);
        for (int out = first_out; out < end_out; out += n_outs)
            panels_native(native, &strip, levels, job, &tiles, tile, end, out,
                          end_out - out < n_outs ? end_out : out + n_outs);
    }
    _tile_release();
}

#define NATIVE_PRODUCT(name, NAME, ...)                                                            \
    static void linear_##name(const struct baton_linear *job, int first_out, int end_out)          \
    {                                                                                              \
        static const struct baton_native native = BATON_NATIVE(NAME, __VA_ARGS__);                 \
        multiply_tiles(native, job, first_out, end_out);                                           \
    }
#define NATIVE_PRODUCTS(formats, a_format) formats(NATIVE_PRODUCT)

#endif
