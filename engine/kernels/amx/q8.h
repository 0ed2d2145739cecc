/* Products with q8 panels; part of sets/amx.c.
 *
 * A tile step is a group of 64 inputs: its integer sums, exact in any order, are scaled and added
 * in f32 just as linear/q8.h does it, so the results are the same to the bit.
 *
 * Pure but for the tiles of the calling thread, which the caller has configured.
 */
#ifndef BATON_ENGINE_KERNELS_AMX_Q8_H
#define BATON_ENGINE_KERNELS_AMX_Q8_H

#include "engine/kernels/amx/rows.h"

enum { Q8_GROUP_BYTES = LINE_BYTES + TILE_BYTES }; /* of a panel: scales, weights */

enum {
    Q8_GROUPS = 16, /* of a panel: 17 KiB, which stay in the first-level cache */
    Q8_PANELS = 4   /* whose results are written together */
};

/* Panels on their way through a block of rows: some groups of one of them, without the 128 that
 * weights are stored with, and the results of all tiles of rows so far. */
struct q8_strip {
    _Alignas(LINE_BYTES) char weights[Q8_GROUPS][TILE_BYTES];
    _Alignas(LINE_BYTES) float scales[Q8_GROUPS][LANES];
    _Alignas(LINE_BYTES) float results[BLOCK_MAX_TILES][Q8_PANELS][TILE_FLOATS];
};

/* The product of those groups and one tile of rows. */
struct q8_pass {
    const struct q8_strip *strip;
    const char *rows, *groups; /* of the rows: their bytes, their groups' scales */
    size_t row_bytes;
    int n_groups;
    struct fetch fetch;
    float *results; /* [16][16] */
};

/* Two groups in a row use tiles of their own, so that the second need not wait for the first. */
#define SUM_GROUP(sums, sums_tile, rows_tile, panel_tile, pass, group)                             \
    do {                                                                                           \
        const size_t number = (size_t)(group);                                                     \
        LOAD_TILE(rows_tile, (pass)->rows + number * BATON_Q8_GROUP, (pass)->row_bytes);           \
        LOAD_TILE(panel_tile, (pass)->strip->weights[number], LINE_BYTES);                         \
        _tile_zero(sums_tile);                                                                     \
        _tile_dpbssd(sums_tile, rows_tile, panel_tile);                                            \
        _tile_stored(sums_tile, sums, LINE_BYTES);                                                 \
    } while (0)

/* results += the group's sums times the scales of weights and rows. */
INLINE void add_group_q8(vec *results, const struct q8_pass *pass, int group,
                         const int32_t (*sums)[LANES])
{
    const char *from = pass->groups + (size_t)group * sizeof(struct baton_q8_row_group);
    const vec scale = load(pass->strip->scales[group]);
    KEEP_STORES(sums);
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++, from += pass->row_bytes) {
        const struct baton_q8_row_group *row = (const void *)from;
        vec values = (vec)_mm512_cvtepi32_ps(_mm512_load_si512(sums[r]));
        results[r] += values * (scale * row->scale);
    }
}

/* Tiles sum up a group while vectors scale the group before it. */
static void multiply_q8(const struct q8_pass *aimed, bool begins)
{
    _Alignas(LINE_BYTES) int32_t sums[2][TILE_ROWS][LANES];
    const struct q8_pass pass = *aimed;
    struct fetch fetch = pass.fetch;
    vec results[TILE_ROWS];
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++)
        results[r] = begins ? splat(0) : load(pass.results + r * LANES);
    SUM_GROUP(sums[0], SUMS_00, ROWS_0, PANEL_0, &pass, 0);
    for (int group = 0; group < pass.n_groups; group += 2) {
        fetch_step(&fetch, 1);
        if (group + 1 < pass.n_groups)
            SUM_GROUP(sums[1], SUMS_01, ROWS_1, PANEL_1, &pass, group + 1);
        add_group_q8(results, &pass, group, sums[0]);
        if (group + 2 < pass.n_groups)
            SUM_GROUP(sums[0], SUMS_00, ROWS_0, PANEL_0, &pass, group + 2);
        if (group + 1 < pass.n_groups)
            add_group_q8(results, &pass, group + 1, sums[1]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++)
        store(pass.results + r * LANES, results[r]);
}

/* Copies n groups of a panel, and makes their weights signed as TDPBSSD needs them. */
static void load_groups(struct q8_strip *strip, const char *from, int n)
{
    const __m512i sign = _mm512_set1_epi8(-128);
    for (int g = 0; g < n; g++, from += Q8_GROUP_BYTES) {
        store(strip->scales[g], load((const float *)(const void *)from));
        for (int i = 0; i < TILE_BYTES; i += LINE_BYTES)
            _mm512_store_si512(strip->weights[g] + i,
                               _mm512_xor_si512(_mm512_load_si512(from + LINE_BYTES + i), sign));
    }
}

/* n groups of a panel from the group-th on, times tiles first_tile..end_tile-1; the panel is number
 * p of the strip. */
static void add_groups_q8(struct q8_strip *strip, const struct row_tiles *tiles, int first_tile,
                          int end_tile, const char *panel, int n_stored, int group, int n, int p)
{
    const char *from = panel + (size_t)group * Q8_GROUP_BYTES,
               *next = from + (size_t)n * Q8_GROUP_BYTES;
    struct q8_pass pass = {.strip = strip, .row_bytes = tiles->row_bytes, .n_groups = n};
    load_groups(strip, from, n);
    for (int tile = first_tile; tile < end_tile; tile++) {
        const char *rows = rows_of(tiles, tile);
        pass.rows = rows + (size_t)group * BATON_Q8_GROUP;
        pass.groups = rows + n_stored + (size_t)group * sizeof(struct baton_q8_row_group);
        pass.fetch = fetch_share(next, next, (size_t)n * Q8_GROUP_BYTES, tile - first_tile,
                                 end_tile - first_tile, (n + 1) / 2);
        pass.results = strip->results[tile - first_tile][p];
        multiply_q8(&pass, group == 0);
    }
}

/* Up to Q8_PANELS panels, from output out on, times tiles first_tile..end_tile-1. */
static void panels_q8(struct q8_strip *strip, const struct baton_linear *job,
                      const struct row_tiles *tiles, int first_tile, int end_tile, int out,
                      int end_out)
{
    const struct baton_packed *w = job->weights;
    const size_t panel_bytes = baton_packed_panel_bytes(BATON_Q8, w->n_in);
    const int n_stored = baton_packed_n_in(BATON_Q8, w->n_in), n = n_stored / BATON_Q8_GROUP;
    const char *panel = (const char *)w->data + (size_t)(out / BATON_PANEL) * panel_bytes;
    for (int o = out, p = 0; o < end_out; o += LANES, p++, panel += panel_bytes)
        for (int group = 0; group < n; group += Q8_GROUPS)
            add_groups_q8(strip, tiles, first_tile, end_tile, panel, n_stored, group,
                          n - group < Q8_GROUPS ? n - group : Q8_GROUPS, p);
    finish_tiles(job, tiles, first_tile, end_tile - first_tile, out, end_out, strip->results[0][0],
                 Q8_PANELS);
}

/* For more rows than a tile has: sets/amx.c gives fewer to vectors. */
static void linear_q8(const struct baton_linear *job, int first_out, int end_out)
{
    const size_t row_bytes = baton_quantized_row_bytes(BATON_Q8, job->weights->n_in);
    const struct row_tiles tiles = cut_rows(job, row_bytes, row_bytes);
    struct q8_strip strip;
    for (int tile = 0, end; tile < tiles.n_tiles; tile = end) {
        end = end_of_block(&tiles, tile);
        for (int out = first_out; out < end_out; out += Q8_PANELS * LANES)
            panels_q8(&strip, job, &tiles, tile, end, out,
                      end_out - out < Q8_PANELS * LANES ? end_out : out + Q8_PANELS * LANES);
    }
}

#endif
