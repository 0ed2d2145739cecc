/* Products with native panels. Part of sets/native_*.c.
 *
 * Few rows read the panel itself and unpack it in registers. For more rows, 256 inputs of a panel
 * at a time are unpacked to bytes in the first-level cache, where all rows of a block find them.
 *
 * The products of a group of 16 or 32 inputs are summed up as integers, exactly, whatever their
 * order and instructions. An element is the chain of its groups in order, each of which is
 *
 *     result += (sum * scale - min * x's sum) * scale of x
 *
 * where the first product is rounded, and the others are multiply-adds if the machine has them.
 *
 * In formats whose blocks have integers and a float as scales, four groups are a span, in which x
 * has one scale (quantize.h). The groups' sums times their integers are added exactly: a float
 * holds the sum of two groups, and the sum of four is rounded once. A span is
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

/* Few rows are up to FEW_TILES tiles of FEW_ROWS rows: for so many, unpacking in registers takes
 * less time than filling chunks (measured). Portable code computes so slowly that it never waits
 * for memory, and always fills chunks. */
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

/* Two panels share the loads of rows if the set has the registers for their sums. */
enum {
    CHUNK_PANELS = ALL_REG_BYTES == 2048 ? 2 : 1,
    CHUNK_ROWS = MOST_ROWS / CHUNK_PANELS,
    CHUNK_REGS = CHUNK_PANELS * REGS
};

/* Up to this many rows, groups and units are unrolled; with more, each has work enough between two
 * branches, and unrolled code would take longer to compile and no less time to run (measured). */
enum { UNROLLED_ROWS = 4 };
enum { FETCH_CODES = 2 << 10 }; /* bytes by which few rows prefetch before their use (measured) */

/* A panel, or chunks of neighbouring ones, times some rows. */
struct native_tile {
    const char *panel;
    const struct native_chunk *chunks; /* [CHUNK_PANELS] */
    const uint8_t *levels;             /* of native_word */
    const char *x, *groups; /* the first row's bytes and groups, where the panel or chunk begins */
    size_t row_bytes;
    int n_rows;     /* at most the row slots of the tile's function */
    int n_in;       /* as stored: of the panel or the chunk */
    float *results; /* [slots][16]; those of the next panel are BLOCK_ROWS * 16 further on */
};

typedef void native_tile_fn(const struct native_tile *tile);

/* ---- rows in slots ---- */

/* A tile function takes long to compile, so only some numbers of rows have one. With fewer rows
 * than slots, the pointer of the last slots (row_cursor) points at the last rows, and some rows are
 * multiplied in two slots. So every slot reads a row that exists, and a result does not depend on
 * its slot. */

INLINE int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* The number of rows of the pointer whose first slot is `slot`. */
INLINE int rows_of_pointer(int slot, int n_slots)
{
    return least_of(n_slots - slot, ROWS_PER_POINTER);
}

/* Like cursor_at. If n_rows is less than both n_slots and a pointer's rows, the cursor begins
 * before x, where the caller has rows then. */
INLINE struct row_cursor cursor_in_slots(const char *x, size_t row_bytes, int n_slots, int n_rows)
{
    struct row_cursor cursor = {.row_bytes = row_bytes};
    UNROLL
    for (int slot = 0; slot < n_slots; slot += ROWS_PER_POINTER) {
        const int row = least_of(slot, n_rows - rows_of_pointer(slot, n_slots));
        cursor.third[slot / ROWS_PER_POINTER] = x + (ptrdiff_t)row * (ptrdiff_t)row_bytes;
    }
    return cursor;
}

/* The slots for the next of n_left rows. As few and as equal tiles as possible would do; the result
 * is the next number of slots that has a function. */
static int n_slots_for(int n_left, int most, native_tile_fn *const tiles[])
{
    int n_tiles = (n_left + most - 1) / most, n = (n_left + n_tiles - 1) / n_tiles;
    while (!tiles[n])
        n++;
    return n;
}

/* Epilogues of a tile's n_rows rows from `row` on. The results of the last rows are in the last
 * slots, as explained above. */
static void finish_slots(const struct baton_linear *job, int out, int end_out, int row, int n_rows,
                         int n_slots, const float *results)
{
    const int n_last = n_rows % ROWS_PER_POINTER, first = n_rows - n_last,
              last_slots = first + rows_of_pointer(first, n_slots) - n_last;
    finish_rows(job, out, end_out, row, first, results);
    finish_rows(job, out, end_out, row + first, n_last, results + last_slots * LANES);
}

/* A unit of a panel or of a chunk, or the rest of it: its groups from `first` on. */
struct native_unit {
    const char *step, *codes;    /* if it is of a panel */
    struct native_planes planes; /* those of the codes, from group `first` on */
    int number;                  /* in its step or chunk */
    int first;
    const struct native_chunk *chunks;
    const uint8_t *levels;
};

/* ---- a group ---- */

/* With VNNI, a sum begins with the bits of a float (BATON_NATIVE_START), so it needs no conversion
 * to be scaled, and few rows multiply codes as they are stored, which saves an instruction for each
 * word. */
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

/* The start of the sum of a row's group g of a unit: it subtracts the zero that the stored weights
 * contain, times the sum of the row's bytes. The row has the start for a zero of 128; the start for
 * another zero is exact, too, because a zero is a power of two or 0. */
INLINE q8_sum start_native(struct baton_native native, bool is_chunk,
                           const struct baton_native_row_group *row, int g)
{
    const int zero = is_chunk || !MULTIPLIES_CODES ? 128 : native_zero(native);
    const float start = native.group == HALF_GROUP ? row->halves[g] : row->starts[g];
    if (zero == 128)
        return start_at(start);
    return start_at(BATON_NATIVE_START + (start - BATON_NATIVE_START) * ((float)zero / 128));
}

/* Registers of a word: those of all panels, one panel after the other. */
INLINE int n_regs(bool is_chunk)
{
    return is_chunk ? CHUNK_REGS : REGS;
}

/* Word n, counted from that of group unit->first. */
INLINE struct q8_words native_words(struct baton_native native, bool is_chunk,
                                    const struct native_unit *unit, int n, int i)
{
    if (is_chunk)
        return load_q8(unit->chunks[i / REGS].words[unit->number][n] + i % REGS * REG_BYTES);
    return ready_q8((reg)(MULTIPLIES_CODES
                              ? native_word(native, unit->levels, unit->planes, n, i)
                              : native_word_over_128(native, unit->levels, unit->planes, n, i)));
}

/* Adds the products of word n. x points at the first input of the word's group. */
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

/* Sums up group g, counted from unit->first, and moves x past it. */
INLINE void sum_group_native(struct baton_native native, bool is_chunk,
                             const struct native_unit *unit, int g, q8_sum sums[][CHUNK_REGS],
                             struct row_cursor *x, const struct row_cursor *groups, int n_rows)
{
    const int n_words = native.group / 4;
#if MULTIPLIES_PAIRS
    if (is_chunk && n_rows > 1) { /* of one panel: CHUNK_REGS is REGS */
        sum_pairs(sums, unit->chunks->words[unit->number][g * n_words], native.group, x, n_rows);
        advance(x, (size_t)native.group, n_rows);
        return;
    }
#endif
    UNROLL
    for (int r = 0; r < n_rows; r++) {
        q8_sum start =
            start_native(native, is_chunk, (const void *)row_of(groups, r), unit->first + g);
        for (int i = 0; i < n_regs(is_chunk); i++)
            sums[r][i] = start;
    }
    UNROLL_WORDS
    for (int n = g * n_words; n < (g + 1) * n_words; n++)
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

/* pairs are sums of two groups each. They are exact because they stay below 2^24: a group has 32
 * inputs, codes up to 31 and integers up to 63, or 16 inputs, codes from -32 on and integers from
 * -128 on. */
struct native_span {
    reg pairs[2][MOST_ROWS][CHUNK_REGS];
    struct native_factors found[BATON_NATIVE_SPAN_GROUPS]; /* for a panel; a chunk has its own */
};

/* Adds a group's sums to a pair, as its first group or its second; factors [panels]. */
INLINE void join_pair(bool is_chunk, reg pair[][CHUNK_REGS], bool is_first,
                      q8_sum sums[][CHUNK_REGS], const struct native_factors *const factors[],
                      int n_rows)
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
            pair[r][i] = is_first ? scaled : pair[r][i] + scaled;
        }
}

/* Adds unit number u of a span, which has all of the span's groups or two of them. groups are those
 * of the unit. */
INLINE void join_unit(struct baton_native native, bool is_chunk, struct native_span *span, int u,
                      const struct native_unit *unit, struct row_cursor *x,
                      const struct row_cursor *groups, int n_rows)
{
    const int n_groups = BATON_NATIVE_UNIT / native.group;
#pragma GCC unroll 4
    for (int g = 0; g < n_groups; g++) {
        q8_sum sums[MOST_ROWS][CHUNK_REGS];
        struct native_factors *found = &span->found[u * n_groups + g];
        const struct native_factors *factors[CHUNK_PANELS] = {found};
        sum_group_native(native, is_chunk, unit, g, sums, x, groups, n_rows);
        for (int p = 0; is_chunk && p < CHUNK_PANELS; p++)
            factors[p] = &unit->chunks[p].factors[unit->number][g];
        if (!is_chunk)
            find_factors(native, unit->step, unit->number * n_groups + g, found);
        join_pair(is_chunk, span->pairs[n_groups == 2 ? u : g / 2], g % 2 == 0, sums, factors,
                  n_rows);
    }
}

/* The mins of the span's group g, of panel p. unit is the span's first. */
INLINE const float *span_mins(struct baton_native native, bool is_chunk,
                              const struct native_span *span, const struct native_unit *unit, int g,
                              int p)
{
    const int n_groups = BATON_NATIVE_UNIT / native.group;
    return is_chunk ? unit->chunks[p].factors[unit->number + g / n_groups][g % n_groups].mins
                    : span->found[g].mins;
}

/* Adds the span to the results. unit and groups are its first; step_scales [16] are for a panel. */
INLINE void fold_span(struct baton_native native, bool is_chunk, float *results,
                      const struct native_span *span, const struct native_unit *unit,
                      const float *step_scales, const struct row_cursor *groups, int n_rows)
{
    const int n_groups = BATON_NATIVE_UNIT / native.group;
    UNROLL
    for (int r = 0; r < n_rows; r++) {
        const struct baton_native_row_group *row = (const void *)row_of(groups, r);
        for (int i = 0; i < n_regs(is_chunk); i++) {
            const int p = i / REGS, at = i % REGS * REG_LANES;
            float *result = results + (p * BLOCK_ROWS + r) * LANES + at;
            reg scaled = (span->pairs[0][r][i] + span->pairs[1][r][i]) *
                         load_reg((is_chunk ? unit->chunks[p].step : step_scales) + at);
            for (int g = 0; native.has_min && g < BATON_NATIVE_SPAN_GROUPS; g++)
                scaled =
                    fma_reg(splat_reg(minus_sum(native, row + g / n_groups, g % n_groups)),
                            load_reg(span_mins(native, is_chunk, span, unit, g, p) + at), scaled);
            store_reg(result, fma_reg(scaled, splat_reg(row->scale), load_reg(result)));
        }
    }
}

INLINE void find_step_scale(struct baton_native native, const char *step, float *scales)
{
    for (int i = 0; i < REGS; i++)
        store_reg(scales + i * REG_LANES, native_step_scale(native, step, i));
}

/* Adds the next unit of the span, and moves to the one after it. */
INLINE void join_next_unit(struct baton_native native, bool is_chunk, struct native_span *span,
                           int u, struct native_unit *unit, struct row_cursor *x,
                           struct row_cursor *groups, int n_rows)
{
    if (!is_chunk)
        unit->planes = planes_at(native, unit->codes, 0);
    join_unit(native, is_chunk, span, u, unit, x, groups, n_rows);
    advance(groups, sizeof(struct baton_native_row_group), n_rows);
    unit->codes += is_chunk ? 0 : baton_native_unit_bytes(&native);
    unit->number++;
}

/* Multiplies the span that begins with unit `first`, and moves x and groups past it. */
INLINE void add_span(struct baton_native native, bool is_chunk, const struct native_tile *tile,
                     const struct native_unit *first, struct row_cursor *x,
                     struct row_cursor *groups, int n_rows)
{
    struct native_span span;
    _Alignas(LINE_BYTES) float step_scales[LANES];
    struct native_unit unit = *first;
    struct row_cursor of_unit = *groups;
    if (!is_chunk)
        find_step_scale(native, unit.step, step_scales);
    if (n_rows <= UNROLLED_ROWS) {
#pragma GCC unroll 2
        for (int u = 0; u < baton_native_span_units(&native); u++)
            join_next_unit(native, is_chunk, &span, u, &unit, x, &of_unit, n_rows);
    } else {
        for (int u = 0; u < baton_native_span_units(&native); u++)
            join_next_unit(native, is_chunk, &span, u, &unit, x, &of_unit, n_rows);
    }
    fold_span(native, is_chunk, tile->results, &span, first, step_scales, groups, n_rows);
    *groups = of_unit;
}

/* ---- groups with scales of their own ---- */

/* Multiplies group g, counted from unit->first. */
INLINE void add_group(struct baton_native native, bool is_chunk, const struct native_tile *tile,
                      const struct native_unit *unit, int g, struct row_cursor *x,
                      const struct row_cursor *groups, int n_rows)
{
    const int of_unit = unit->first + g;
    q8_sum sums[MOST_ROWS][CHUNK_REGS];
    struct native_factors found;
    const struct native_factors *factors[CHUNK_PANELS] = {&found};
    sum_group_native(native, is_chunk, unit, g, sums, x, groups, n_rows);
    for (int p = 0; is_chunk && p < CHUNK_PANELS; p++)
        factors[p] = &unit->chunks[p].factors[unit->number][of_unit];
    if (!is_chunk)
        find_factors(native, unit->step,
                     unit->number * (BATON_NATIVE_UNIT / native.group) + of_unit, &found);
    fold_group(native, is_chunk, tile->results, of_unit, sums, factors, groups, n_rows);
}

/* Multiplies a unit. The groups of a panel times many rows are not unrolled: see UNROLLED_ROWS. */
INLINE void add_unit(struct baton_native native, bool is_chunk, const struct native_tile *tile,
                     const struct native_unit *unit, struct row_cursor *x,
                     struct row_cursor *groups, int n_rows)
{
    const int n_groups = BATON_NATIVE_UNIT / native.group;
    struct native_unit rest = *unit;
    if (is_chunk || n_rows <= UNROLLED_ROWS) {
#pragma GCC unroll 4
        for (int g = 0; g < n_groups; g++)
            add_group(native, is_chunk, tile, unit, g, x, groups, n_rows);
    } else {
        for (; rest.first < n_groups; rest.first++) {
            rest.planes = planes_at(native, unit->codes, rest.first * native.group / 4);
            add_group(native, false, tile, &rest, 0, x, groups, n_rows);
        }
    }
    advance(groups, sizeof(struct baton_native_row_group), n_rows);
}

/* ---- a tile ---- */

/* Prefetches as many bytes as n_units units take, scales included, from FETCH_CODES ahead of the
 * unit on. */
INLINE void fetch_units(struct baton_native native, const struct native_unit *unit, int n_units)
{
    const int share = baton_native_unit_share(&native);
    const char *from = unit->step + unit->number * share + FETCH_CODES;
    for (int i = 0; i < n_units * share; i += LINE_BYTES)
        __builtin_prefetch(from + i, 0, 2);
}

/* A panel times few rows. */
INLINE void tile_panel(struct baton_native native, const struct native_tile *tile, int n_rows)
{
    const int n_units = baton_native_step(&native) / BATON_NATIVE_UNIT,
              n_together = native.has_spans ? baton_native_span_units(&native) : 1;
    struct row_cursor x = cursor_in_slots(tile->x, tile->row_bytes, n_rows, tile->n_rows);
    struct row_cursor groups = cursor_in_slots(tile->groups, tile->row_bytes, n_rows, tile->n_rows);
    struct native_unit unit = {.step = tile->panel, .levels = tile->levels};
    memset(tile->results, 0, (size_t)n_rows * LANES * sizeof *tile->results);
    for (int k = 0; k < tile->n_in; k += n_units * BATON_NATIVE_UNIT) {
        unit.codes = unit.step + baton_native_head_bytes(&native);
        for (unit.number = 0; unit.number < n_units; unit.number += n_together) {
            fetch_units(native, &unit, n_together);
            unit.planes = planes_at(native, unit.codes, 0);
            if (native.has_spans)
                add_span(native, false, tile, &unit, &x, &groups, n_rows);
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
    struct row_cursor x = cursor_in_slots(tile->x, tile->row_bytes, n_rows, tile->n_rows);
    struct row_cursor groups = cursor_in_slots(tile->groups, tile->row_bytes, n_rows, tile->n_rows);
    struct native_unit unit = {.chunks = tile->chunks};
    const int n_together = native.has_spans ? baton_native_span_units(&native) : 1;
#pragma GCC unroll 1
    for (; unit.number * BATON_NATIVE_UNIT < tile->n_in; unit.number += n_together)
        if (native.has_spans)
            add_span(native, true, tile, &unit, &x, &groups, n_rows);
        else
            add_unit(native, true, tile, &unit, &x, &groups, n_rows);
}

/* ---- a panel times many rows ---- */

/* A chunk times n_rows rows. The results of a tile begin at the slot of its first row. */
static void run_chunk(struct native_tile tile, int n_rows, native_tile_fn *const tiles[])
{
    for (; n_rows; n_rows -= tile.n_rows) {
        const int n_slots = n_slots_for(n_rows, CHUNK_ROWS, tiles);
        tile.n_rows = least_of(n_slots, n_rows);
        tiles[n_slots](&tile);
        tile.x += (size_t)tile.n_rows * tile.row_bytes;
        tile.groups += (size_t)tile.n_rows * tile.row_bytes;
        tile.results += tile.n_rows * LANES;
    }
}

/* Epilogues of all rows, after the last chunk. */
static void finish_chunks(const struct baton_linear *job, int out, int end_out, int row, int n_rows,
                          const float *results, native_tile_fn *const tiles[])
{
    for (int n; n_rows; n_rows -= n, row += n, results += n * LANES) {
        const int n_slots = n_slots_for(n_rows, CHUNK_ROWS, tiles);
        n = least_of(n_slots, n_rows);
        finish_slots(job, out, end_out, row, n, n_slots, results);
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

/* Multiplies CHUNK_PANELS neighbouring panels. A last panel that is alone is multiplied twice
 * instead of having functions of its own. */
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
        finish_chunks(job, out + p * LANES, end_out, row, n_rows, results[p], tiles);
}

INLINE void run_few_rows(const struct baton_linear *job, int out, int end_out, int row, int n_rows,
                         const uint8_t *levels, native_tile_fn *const tiles[])
{
    _Alignas(LINE_BYTES) float results[FEW_ROWS * LANES];
    for (int n; n_rows; row += n, n_rows -= n) {
        const int n_slots = n_slots_for(n_rows, FEW_ROWS, tiles);
        struct native_tile tile = tile_at(job, out, row, levels, results);
        tile.n_rows = n = least_of(n_slots, n_rows);
        tiles[n_slots](&tile);
        finish_slots(job, out, end_out, row, n, n_slots, results);
    }
}

/* few [1..FEW_ROWS] are functions for panels, many [1..CHUNK_ROWS] for chunks; some are NULL. */
INLINE void linear_native(struct baton_native native, const struct baton_linear *job, int first_out,
                          int end_out, native_tile_fn *const few[], native_tile_fn *const many[])
{
    uint8_t of_codes[16];
    const uint8_t *levels = baton_native_levels(&native, of_codes);
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

/* ---- functions for each format ---- */

#if ALL_REG_BYTES == 2048
#define CHUNK_TILES(X, name) X(name, 8) X(name, 10) X(name, 12)
#define FEW_ROW_TILES(X, name)                                                                     \
    TILES_1_2(X, name)                                                                             \
    TILES_3_5(X, name) X(name, 6) X(name, 7) X(name, 8) X(name, 10) X(name, 12) X(name, 16)
#define FEW_ROW_TILES_ODD(X, name) X(name, 1) X(name, 2) X(name, 4) X(name, 8) X(name, 16)
#else
#define CHUNK_TILES(X, name)       TILES(X, name)
#define FEW_ROW_TILES(X, name)     TILES_1_2(X, name)
#define FEW_ROW_TILES_ODD(X, name) TILES_1_2(X, name)
#endif

/* Tiles of formats of this form. Those with odd scales wait for their points and not for products,
 * so fewer numbers of rows have a function, which saves time to compile. */
#define FEW_ROWS_F16         FEW_ROW_TILES
#define FEW_ROWS_F16_MIN     FEW_ROW_TILES
#define FEW_ROWS_EXPONENT    FEW_ROW_TILES
#define FEW_ROWS_INTEGER     FEW_ROW_TILES
#define FEW_ROWS_INTEGER_MIN FEW_ROW_TILES
#define FEW_ROWS_NIBBLES     FEW_ROW_TILES
#define FEW_ROWS_FLOAT       FEW_ROW_TILES_ODD
#define FEW_ROWS_E4M3        FEW_ROW_TILES_ODD
#define FEW_ROWS_ODD         FEW_ROW_TILES_ODD

#define NATIVE_TILE_FUNCTION(name, n_rows)                                                         \
    static __attribute__((noinline)) void name##_##n_rows(const struct native_tile *tile)          \
    {                                                                                              \
        name(tile, n_rows);                                                                        \
    }
#define NATIVE_TILE_TABLE(name, tiles, most)                                                       \
    tiles(NATIVE_TILE_FUNCTION,                                                                    \
          name) static native_tile_fn *const name##s[most + 1] = {tiles(TILE_ENTRY, name)};

#if ALL_REG_BYTES > 256
#define FEW_TILE_TABLE(name, form)                                                                 \
    INLINE void tile_##name(const struct native_tile *tile, int n_rows)                            \
    {                                                                                              \
        tile_panel(native_##name, tile, n_rows);                                                   \
    }                                                                                              \
    NATIVE_TILE_TABLE(tile_##name, FEW_ROWS_##form, FEW_ROWS)
#else
#define FEW_TILE_TABLE(name, form) static native_tile_fn *const tile_##name##s[FEW_ROWS + 1];
#endif

#define NATIVE_FORMAT(name, NAME, ...)                                                             \
    static const struct baton_native native_##name = BATON_NATIVE(NAME, __VA_ARGS__);

#define NATIVE_PRODUCT(name, NAME, form, ...)                                                      \
    FEW_TILE_TABLE(name, form)                                                                     \
    static void linear_##name(const struct baton_linear *job, int first_out, int end_out)          \
    {                                                                                              \
        linear_native(native_##name, job, first_out, end_out, tile_##name##s, chunk_tiles);        \
    }

/* The products of a class of formats. They share the tiles of chunks, which are compiled for
 * a_format: a chunk is unpacked, so the formats of a class differ no more. */
#define NATIVE_PRODUCTS(formats, a_format)                                                         \
    formats(NATIVE_FORMAT) INLINE void chunk_tile(const struct native_tile *tile, int n_rows)      \
    {                                                                                              \
        tile_chunk(native_##a_format, tile, n_rows);                                               \
    }                                                                                              \
    NATIVE_TILE_TABLE(chunk_tile, CHUNK_TILES, CHUNK_ROWS)                                         \
    formats(NATIVE_PRODUCT)

#endif
