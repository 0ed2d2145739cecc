/* Products with native panels. Part of body.h.
 *
 * Few rows read the panel itself and unpack it in registers. For more, 256 inputs of a panel at a
 * time become bytes in the first-level cache, where all rows of a block find them.
 *
 * The products of a group of 16 or 32 inputs are summed up as integers, exactly, whatever their
 * order and instructions. An element is the chain of its groups in order, each of which is
 *
 *     result += (sum * scale - min * x's sum) * scale of x
 *
 * where the first product is rounded, and the others are multiply-adds where the machine has them.
 *
 * Where a block's scales are integers beside a float, four groups are a span, in which x has one
 * scale (quantize.h). Their sums times their integers are added exactly: a float holds the
 * sum of two groups, and that of four is rounded once. A span is
 *
 *     result += (sum * the block's scale - mins * x's sums) * scale of x
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_NATIVE_LINEAR_H
#define BATON_ENGINE_KERNELS_NATIVE_LINEAR_H

#include "engine/kernels/linear/dot_pairs.h"
#include "engine/kernels/linear/dot_q8.h"
#include "engine/kernels/linear/tiles.h"
#include "engine/kernels/native/chunk.h"
#include "engine/kernels/native/quantize.h"

/* Few rows are up to FEW_TILES tiles of FEW_ROWS rows (measured: then unpacking in registers takes
 * less time than filling chunks). Portable code is too slow to wait for memory. */
#if ALL_REG_BYTES == 2048
enum { FEW_ROWS = 16, FEW_TILES = 2 };
#elif ALL_REG_BYTES == 512
enum { FEW_ROWS = 2, FEW_TILES = 1 };
#else
enum { FEW_ROWS = 1, FEW_TILES = 0 };
#endif
#if ALL_REG_BYTES > 256
#define UNROLL_WORDS _Pragma("GCC unroll 8") /* all of a group */
#else
#define UNROLL_WORDS _Pragma("GCC unroll 1")
#endif

/* Two panels share what is read of rows, where there are registers for it. */
enum {
    CHUNK_PANELS = ALL_REG_BYTES == 2048 ? 2 : 1,
    CHUNK_ROWS = MOST_ROWS / CHUNK_PANELS,
    CHUNK_REGS = CHUNK_PANELS * REGS
};

enum { FETCH_CODES = 2 << 10 }; /* bytes that few rows ask for codes ahead of use (measured) */

/* A panel, or chunks of neighbouring ones, times some rows. */
struct native_tile {
    const char *panel;
    const struct native_chunk *chunks; /* [CHUNK_PANELS] */
    const uint8_t *levels;             /* as native_word takes them */
    const char *x, *groups; /* the first row's bytes and groups, where the panel or chunk begins */
    size_t row_bytes;
    int n_in;       /* as stored: of the panel or the chunk */
    float *results; /* [rows][16]; of the next panel BLOCK_ROWS * 16 further on */
};

typedef void native_tile_fn(const struct native_tile *tile);

/* One unit of either. */
struct native_unit {
    const char *step, *codes; /* of a panel */
    int number;               /* in its step or chunk */
    const struct native_chunk *chunks;
    const uint8_t *levels;
};

/* ---- a group ---- */

/* With VNNI, a sum begins with a float's bits, whose scaling then takes no conversion of integers,
 * and few rows multiply codes as they are, which saves an instruction for each word. */
#if defined(__AVX512VNNI__)
enum { MULTIPLIES_CODES = true };

INLINE q8_sum start_at(float start)
{
    return (q8_sum)splat_reg(start);
}

/* The sum without its start, times scales. */
INLINE reg scale_sum(q8_sum sum, reg scales, reg starts)
{
    return fma_reg((reg)sum, scales, starts);
}
#else
enum { MULTIPLIES_CODES = false };

INLINE q8_sum start_at(float start)
{
    (void)start;
    return (q8_sum){0};
}

INLINE reg scale_sum(q8_sum sum, reg scales, reg starts)
{
    (void)starts;
    return __builtin_convertvector(sum, reg) * scales;
}
#endif

/* Of a row's group g of a unit: what takes the zero of weights out of the sum. */
INLINE q8_sum start_native(struct baton_native native, bool is_chunk,
                           const struct baton_native_row_group *row, int g)
{
    const int zero = is_chunk || !MULTIPLIES_CODES ? 128 : native_zero(native);
    const float start = native.group == HALF_GROUP ? row->halves[g] : row->starts[g];
    if (zero == 128)
        return start_at(start);
    return start_at(BATON_NATIVE_START + (start - BATON_NATIVE_START) * ((float)zero / 128));
}

/* Registers of all panels follow each other. */
INLINE int n_regs(bool is_chunk)
{
    return is_chunk ? CHUNK_REGS : REGS;
}

INLINE struct q8_words native_words(struct baton_native native, bool is_chunk,
                                    const struct native_unit *unit, int n, int i)
{
    if (is_chunk)
        return load_q8(unit->chunks[i / REGS].words[unit->number][n] + i % REGS * REG_BYTES);
    return ready_q8((reg)(MULTIPLIES_CODES
                              ? native_word(native, unit->levels, unit->codes, n, i)
                              : native_word_over_128(native, unit->levels, unit->codes, n, i)));
}

/* Word n of a unit; x is at the group's first. */
INLINE void add_word_native(struct baton_native native, bool is_chunk,
                            const struct native_unit *unit, int n, q8_sum sums[][CHUNK_REGS],
                            const struct row_cursor *x, int n_rows)
{
    const int at = n * 4 % native.group;
    struct q8_words words[CHUNK_REGS];
    for (int i = 0; i < n_regs(is_chunk); i++)
        words[i] = native_words(native, is_chunk, unit, n, i);
    UNROLL
    for (int r = 0; r < n_rows; r++) {
        for (int i = 0; i < n_regs(is_chunk); i++)
            sums[r][i] = add_q8(sums[r][i], words[i], row_of(x, r) + at);
    }
}

INLINE void sum_group_native(struct baton_native native, bool is_chunk,
                             const struct native_unit *unit, int g, q8_sum sums[][CHUNK_REGS],
                             struct row_cursor *x, const struct row_cursor *groups, int n_rows)
{
    const int first = g * native.group / 4, end = first + native.group / 4;
#if MULTIPLIES_PAIRS
    if (is_chunk && n_rows > 1) { /* of one panel: CHUNK_REGS is REGS */
        sum_pairs(sums, unit->chunks->words[unit->number][first], native.group, x, n_rows);
        advance(x, (size_t)native.group, n_rows);
        return;
    }
#endif
    UNROLL
    for (int r = 0; r < n_rows; r++) {
        q8_sum start = start_native(native, is_chunk, (const void *)row_of(groups, r), g);
        for (int i = 0; i < n_regs(is_chunk); i++)
            sums[r][i] = start;
    }
    UNROLL_WORDS
    for (int n = first; n < end; n++)
        add_word_native(native, is_chunk, unit, n, sums, x, n_rows);
    advance(x, (size_t)native.group, n_rows);
}

/* Adds a group's sums to the results; factors [panels]. */
INLINE void fold_group(struct baton_native native, bool is_chunk, float *results, int g,
                       q8_sum sums[][CHUNK_REGS], const struct native_factors *const factors[],
                       const struct row_cursor *groups, int n_rows)
{
    reg scales[CHUNK_REGS], starts[CHUNK_REGS], mins[CHUNK_REGS];
    for (int i = 0; i < n_regs(is_chunk); i++) {
        const struct native_factors *of = factors[i / REGS];
        scales[i] = load_reg(of->scales + i % REGS * REG_LANES);
        starts[i] = load_reg(of->starts + i % REGS * REG_LANES);
        mins[i] = native.has_min ? load_reg(of->mins + i % REGS * REG_LANES) : (reg){0};
    }
    UNROLL
    for (int r = 0; r < n_rows; r++) {
        const struct baton_native_row_group *row = (const void *)row_of(groups, r);
        const reg scale = splat_reg(row->scale);
        for (int i = 0; i < n_regs(is_chunk); i++) {
            float *result = results + (i / REGS * BLOCK_ROWS + r) * LANES + i % REGS * REG_LANES;
            reg scaled = scale_sum(sums[r][i], scales[i], starts[i]);
            if (native.has_min)
                scaled = fma_reg(splat_reg(minus_sum(native, row, g)), mins[i], scaled);
            store_reg(result, fma_reg(scaled, scale, load_reg(result)));
        }
    }
}

/* ---- four groups whose scales are integers ---- */

/* Sums of two groups each, exact: below 2^24, which takes 32 inputs, codes up to 31 and integers up
 * to 63, or 16 inputs, codes from -32 on and integers from -128 on. */
struct native_span {
    reg pairs[2][MOST_ROWS][CHUNK_REGS];
};

/* Group g's sums join it; factors [panels]. */
INLINE void join_span(bool is_chunk, struct native_span *span, int g, q8_sum sums[][CHUNK_REGS],
                      const struct native_factors *const factors[], int n_rows)
{
    reg scales[CHUNK_REGS], starts[CHUNK_REGS];
    for (int i = 0; i < n_regs(is_chunk); i++) {
        scales[i] = load_reg(factors[i / REGS]->scales + i % REGS * REG_LANES);
        starts[i] = load_reg(factors[i / REGS]->starts + i % REGS * REG_LANES);
    }
    UNROLL
    for (int r = 0; r < n_rows; r++)
        for (int i = 0; i < n_regs(is_chunk); i++) {
            reg scaled = scale_sum(sums[r][i], scales[i], starts[i]);
            span->pairs[g / 2][r][i] = g % 2 ? span->pairs[g / 2][r][i] + scaled : scaled;
        }
}

/* Adds it to the results; of each panel its step's scales and its groups' factors [4]. groups: of
 * the span's first unit. */
INLINE void fold_span(struct baton_native native, bool is_chunk, float *results,
                      const struct native_span *span, const float *const steps[],
                      const struct native_factors *const factors[][BATON_NATIVE_SPAN_GROUPS],
                      const struct row_cursor *groups, int n_rows)
{
    const int n_groups = BATON_NATIVE_UNIT / native.group;
    UNROLL
    for (int r = 0; r < n_rows; r++) {
        const struct baton_native_row_group *row = (const void *)row_of(groups, r);
        for (int i = 0; i < n_regs(is_chunk); i++) {
            const int at = i % REGS * REG_LANES;
            float *result = results + (i / REGS * BLOCK_ROWS + r) * LANES + at;
            reg scaled =
                (span->pairs[0][r][i] + span->pairs[1][r][i]) * load_reg(steps[i / REGS] + at);
            for (int g = 0; native.has_min && g < BATON_NATIVE_SPAN_GROUPS; g++)
                scaled = fma_reg(splat_reg(minus_sum(native, row + g / n_groups, g % n_groups)),
                                 load_reg(factors[i / REGS][g]->mins + at), scaled);
            store_reg(result, fma_reg(scaled, splat_reg(row->scale), load_reg(result)));
        }
    }
}

INLINE void find_step_scale(struct baton_native native, const char *step, float *scales)
{
    for (int i = 0; i < REGS; i++)
        store_reg(scales + i * REG_LANES, native_step_scale(native, step, i));
}

/* Its first unit is `unit`. */
INLINE void add_span(struct baton_native native, bool is_chunk, const struct native_tile *tile,
                     struct native_unit unit, struct row_cursor *x, struct row_cursor *groups,
                     int n_rows)
{
    const int n_groups = BATON_NATIVE_UNIT / native.group;
    struct native_span span;
    struct native_factors found[BATON_NATIVE_SPAN_GROUPS];
    _Alignas(LINE_BYTES) float step[LANES];
    const float *steps[CHUNK_PANELS] = {step};
    const struct native_factors *factors[CHUNK_PANELS][BATON_NATIVE_SPAN_GROUPS];
    struct row_cursor of_unit = *groups;
    if (!is_chunk)
        find_step_scale(native, unit.step, step);
#pragma GCC unroll 4
    for (int g = 0; g < BATON_NATIVE_SPAN_GROUPS; g++) {
        q8_sum sums[MOST_ROWS][CHUNK_REGS];
        const struct native_factors *of_group[CHUNK_PANELS] = {&found[g]};
        sum_group_native(native, is_chunk, &unit, g % n_groups, sums, x, &of_unit, n_rows);
        for (int p = 0; is_chunk && p < CHUNK_PANELS; p++)
            of_group[p] = &unit.chunks[p].factors[unit.number][g % n_groups];
        if (!is_chunk)
            find_factors(native, unit.step, unit.number * n_groups + g % n_groups, &found[g]);
        join_span(is_chunk, &span, g, sums, of_group, n_rows);
        for (int p = 0; p < CHUNK_PANELS; p++)
            factors[p][g] = of_group[p];
        if ((g + 1) % n_groups == 0) {
            advance(&of_unit, sizeof(struct baton_native_row_group), n_rows);
            unit.codes += is_chunk ? 0 : baton_native_unit_bytes(&native);
            unit.number++;
        }
    }
    for (int p = 0; is_chunk && p < CHUNK_PANELS; p++)
        steps[p] = unit.chunks[p].step;
    fold_span(native, is_chunk, tile->results, &span, steps, factors, groups, n_rows);
    *groups = of_unit;
}

/* ---- a unit ---- */

INLINE void add_unit(struct baton_native native, bool is_chunk, const struct native_tile *tile,
                     const struct native_unit *unit, struct row_cursor *x,
                     struct row_cursor *groups, int n_rows)
{
    const int n_groups = BATON_NATIVE_UNIT / native.group;
#pragma GCC unroll 4
    for (int g = 0; g < n_groups; g++) {
        q8_sum sums[MOST_ROWS][CHUNK_REGS];
        struct native_factors found;
        const struct native_factors *factors[CHUNK_PANELS] = {&found};
        sum_group_native(native, is_chunk, unit, g, sums, x, groups, n_rows);
        for (int p = 0; is_chunk && p < CHUNK_PANELS; p++)
            factors[p] = &unit->chunks[p].factors[unit->number][g];
        if (!is_chunk)
            find_factors(native, unit->step, unit->number * n_groups + g, &found);
        fold_group(native, is_chunk, tile->results, g, sums, factors, groups, n_rows);
    }
    advance(groups, sizeof(struct baton_native_row_group), n_rows);
}

INLINE void fetch_units(struct baton_native native, const char *codes, int n_units)
{
    for (int i = 0; i < n_units * baton_native_unit_bytes(&native); i += LINE_BYTES)
        __builtin_prefetch(codes + i + FETCH_CODES, 0, 2);
}

/* A panel times few rows. */
INLINE void tile_panel(struct baton_native native, const struct native_tile *tile, int n_rows)
{
    const int n_units = baton_native_step(&native) / BATON_NATIVE_UNIT,
              n_together = native.has_spans ? baton_native_span_units(&native) : 1;
    struct row_cursor x = cursor_at(tile->x, tile->row_bytes, n_rows);
    struct row_cursor groups = cursor_at(tile->groups, tile->row_bytes, n_rows);
    struct native_unit unit = {.step = tile->panel, .levels = tile->levels};
    memset(tile->results, 0, (size_t)n_rows * LANES * sizeof *tile->results);
    for (int k = 0; k < tile->n_in; k += n_units * BATON_NATIVE_UNIT) {
        unit.codes = unit.step + baton_native_head_bytes(&native);
#pragma GCC unroll 1
        for (unit.number = 0; unit.number < n_units; unit.number += n_together) {
            fetch_units(native, unit.codes, n_together);
            if (native.has_spans)
                add_span(native, false, tile, unit, &x, &groups, n_rows);
            else
                add_unit(native, false, tile, &unit, &x, &groups, n_rows);
            unit.codes += n_together * baton_native_unit_bytes(&native);
        }
        unit.step = unit.codes;
    }
}

/* Chunks times at most CHUNK_ROWS rows; of the format only groups, mins and spans matter. */
INLINE void tile_chunk(struct baton_native native, const struct native_tile *tile, int n_rows)
{
    struct row_cursor x = cursor_at(tile->x, tile->row_bytes, n_rows);
    struct row_cursor groups = cursor_at(tile->groups, tile->row_bytes, n_rows);
    struct native_unit unit = {.chunks = tile->chunks};
    const int n_together = native.has_spans ? baton_native_span_units(&native) : 1;
#pragma GCC unroll 1
    for (; unit.number * BATON_NATIVE_UNIT < tile->n_in; unit.number += n_together)
        if (native.has_spans)
            add_span(native, true, tile, unit, &x, &groups, n_rows);
        else
            add_unit(native, true, tile, &unit, &x, &groups, n_rows);
}

/* ---- a panel times many rows ---- */

/* A chunk times n_rows rows, in as few and as equal tiles as can be. */
static void run_chunk(struct native_tile tile, int n_rows, native_tile_fn *const tiles[])
{
    for (int n; n_rows; n_rows -= n) {
        int n_tiles = (n_rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
        n = (n_rows + n_tiles - 1) / n_tiles;
        tiles[n](&tile);
        tile.x += (size_t)n * tile.row_bytes;
        tile.groups += (size_t)n * tile.row_bytes;
        tile.results += n * LANES;
    }
}

/* ---- a product ---- */

INLINE struct native_tile tile_at(const struct baton_linear *job, int out, int row,
                                  const uint8_t *levels, float *results)
{
    const struct baton_packed *w = job->weights;
    const size_t panel_bytes = baton_packed_panel_bytes(w->dtype, w->n_in),
                 row_bytes = baton_native_row_bytes(w->n_in);
    const char *x = (const char *)job->x + (size_t)row * row_bytes;
    return (struct native_tile){.panel =
                                    (const char *)w->data + (size_t)(out / LANES) * panel_bytes,
                                .levels = levels,
                                .x = x,
                                .groups = x + baton_native_row_inputs(w->n_in),
                                .row_bytes = row_bytes,
                                .n_in = baton_packed_n_in(w->dtype, w->n_in),
                                .results = results};
}

/* Neighbouring panels, of which the last may be alone: it is then multiplied twice. */
INLINE void run_native_panels(struct baton_native native, const struct baton_linear *job, int out,
                              int end_out, int row, int n_rows, const uint8_t *levels,
                              native_tile_fn *const tiles[])
{
    _Alignas(LINE_BYTES) float results[CHUNK_PANELS][BLOCK_ROWS * LANES];
    struct native_chunk chunks[CHUNK_PANELS];
    struct native_tile tile = tile_at(job, out, row, levels, results[0]);
    const size_t panel_bytes = baton_packed_panel_bytes(job->weights->dtype, job->weights->n_in);
    const int n_in = tile.n_in, n_panels = end_out - out > LANES ? CHUNK_PANELS : 1;
    memset(results, 0, sizeof results);
    tile.chunks = chunks;
    for (int k = 0; k < n_in; k += CHUNK_INPUTS) {
        tile.n_in = n_in - k < CHUNK_INPUTS ? n_in - k : CHUNK_INPUTS;
        for (int p = 0; p < CHUNK_PANELS; p++)
            fill_chunk(native, levels, tile.panel + (size_t)(p % n_panels) * panel_bytes, k,
                       tile.n_in / BATON_NATIVE_UNIT, &chunks[p]);
        run_chunk(tile, n_rows, tiles);
        tile.x += CHUNK_INPUTS;
        tile.groups += CHUNK_UNITS * sizeof(struct baton_native_row_group);
    }
    for (int p = 0; p < n_panels; p++)
        finish_rows(job, out + p * LANES, end_out, row, n_rows, results[p]);
}

/* Rows of the next tile: as equal as can be, and as many as there is a tile for. */
static int n_few_rows(int n_left, native_tile_fn *const tiles[])
{
    int n_tiles = (n_left + FEW_ROWS - 1) / FEW_ROWS, n = (n_left + n_tiles - 1) / n_tiles;
    while (!tiles[n])
        n--;
    return n;
}

INLINE void run_few_rows(const struct baton_linear *job, int out, int end_out, int row, int n_rows,
                         const uint8_t *levels, native_tile_fn *const tiles[])
{
    _Alignas(LINE_BYTES) float results[FEW_ROWS * LANES];
    for (int n; n_rows; row += n, n_rows -= n) {
        const struct native_tile tile = tile_at(job, out, row, levels, results);
        n = n_few_rows(n_rows, tiles);
        tiles[n](&tile);
        finish_rows(job, out, end_out, row, n, results);
    }
}

/* few [1..FEW_ROWS], of which some are NULL, multiply panels, many [1..CHUNK_ROWS] chunks. */
INLINE void linear_native(struct baton_native native, const struct baton_linear *job, int first_out,
                          int end_out, native_tile_fn *const few[], native_tile_fn *const many[])
{
    uint8_t levels[16];
    baton_native_levels(&native, levels);
    for (int row = 0; row < job->n_rows; row += BLOCK_ROWS) {
        const int n_rows = job->n_rows - row < BLOCK_ROWS ? job->n_rows - row : BLOCK_ROWS;
        if (n_rows <= FEW_TILES * FEW_ROWS)
            for (int out = first_out; out < end_out; out += LANES)
                run_few_rows(job, out, end_out, row, n_rows, levels, few);
        else
            for (int out = first_out; out < end_out; out += CHUNK_PANELS * LANES)
                run_native_panels(native, job, out, end_out, row, n_rows, levels, many);
    }
}

/* ---- every format's own ---- */

#if ALL_REG_BYTES == 2048
#define CHUNK_TILES(X, name) TILES_1_2(X, name) TILES_3_5(X, name) TILES_6_11(X, name) X(name, 12)
#else
#define CHUNK_TILES(X, name) TILES(X, name)
#endif

#define CHUNK_CLASS(name, n_group, mins, spans)                                                    \
    static const struct baton_native class_##name = {                                              \
        .group = n_group, .has_min = mins, .has_spans = spans};                                    \
    INLINE void tile_##name(const struct native_tile *tile, int n_rows)                            \
    {                                                                                              \
        tile_chunk(class_##name, tile, n_rows);                                                    \
    }                                                                                              \
    NATIVE_TILE_TABLE(tile_##name, CHUNK_TILES, CHUNK_ROWS);

#define NATIVE_TILE_FUNCTION(name, n_rows)                                                         \
    static __attribute__((noinline)) void name##_##n_rows(const struct native_tile *tile)          \
    {                                                                                              \
        name(tile, n_rows);                                                                        \
    }
#define NATIVE_TILE_TABLE(name, tiles, most)                                                       \
    tiles(NATIVE_TILE_FUNCTION,                                                                    \
          name) static native_tile_fn *const name##s[most + 1] = {tiles(TILE_ENTRY, name)}

CHUNK_CLASS(of_16, 16, false, true);
CHUNK_CLASS(of_16_min, 16, true, true);
CHUNK_CLASS(of_32, 32, false, false);
CHUNK_CLASS(of_32_min, 32, true, false);
CHUNK_CLASS(of_128_min, 32, true, true);

INLINE native_tile_fn *const *chunk_tiles(struct baton_native native)
{
    if (native.group == HALF_GROUP)
        return native.has_min ? tile_of_16_mins : tile_of_16s;
    if (native.has_spans)
        return tile_of_128_mins;
    return native.has_min ? tile_of_32_mins : tile_of_32s;
}

#if ALL_REG_BYTES == 2048
#define FEW_ROW_TILES(X, name)                                                                     \
    TILES_1_2(X, name) TILES_3_5(X, name) TILES_6_11(X, name) X(name, 12) X(name, 16)
#else
#define FEW_ROW_TILES(X, name) TILES_1_2(X, name)
#endif

#if ALL_REG_BYTES > 256
#define FEW_TILE_TABLE(name)                                                                       \
    INLINE void tile_##name(const struct native_tile *tile, int n_rows)                            \
    {                                                                                              \
        tile_panel(native_##name, tile, n_rows);                                                   \
    }                                                                                              \
    NATIVE_TILE_TABLE(tile_##name, FEW_ROW_TILES, FEW_ROWS);
#else
#define FEW_TILE_TABLE(name) static native_tile_fn *const tile_##name##s[FEW_ROWS + 1];
#endif

#define NATIVE_PRODUCT(name, NAME, ...)                                                            \
    static const struct baton_native native_##name = BATON_NATIVE(NAME, __VA_ARGS__);              \
    FEW_TILE_TABLE(name)                                                                           \
    static void linear_##name(const struct baton_linear *job, int first_out, int end_out)          \
    {                                                                                              \
        linear_native(native_##name, job, first_out, end_out, tile_##name##s,                      \
                      chunk_tiles(native_##name));                                                 \
    }

BATON_NATIVE_DTYPES(NATIVE_PRODUCT)

#endif
