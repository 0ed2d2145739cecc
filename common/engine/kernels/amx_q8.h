/* Products with q8 panels; part of amx.c.
 *
 * A tile step is a group of 64 inputs: its integer sums, exact in any order, are scaled and added
 * in f32 just as linear_q8.h does it, so the results are the same to the bit.
 *
 * Pure but for the tiles of the calling thread, which the caller has configured.
 */
#ifndef BATON_KERNELS_AMX_Q8_H
#define BATON_KERNELS_AMX_Q8_H

#include "common/engine/kernels/amx_rows.h"

enum { Q8_GROUP_BYTES = LINE_BYTES + TILE_BYTES }; /* of a panel: scales, weights */

/* One panel and one tile of rows. */
struct q8_pass {
    const char *rows, *groups; /* of the rows: their bytes, their groups' scales and offsets */
    const char *panel;
    size_t row_bytes;
    int n_groups, height;
    struct fetch fetch;
    float *results; /* [height][16] */
};

/* Two groups use tiles of their own, so that the second need not wait for the first. */
#define SUM_GROUP(sums, sums_tile, rows_tile, panel_tile, pass, group)                             \
    do {                                                                                           \
        const size_t number = (size_t)(group);                                                     \
        LOAD_TILE(rows_tile, (pass)->rows + number * BATON_Q8_GROUP, (pass)->row_bytes);           \
        LOAD_TILE(panel_tile, (pass)->panel + number * Q8_GROUP_BYTES + LINE_BYTES, LINE_BYTES);   \
        _tile_zero(sums_tile);                                                                     \
        _tile_dpbsud(sums_tile, rows_tile, panel_tile);                                            \
        _tile_stored(sums_tile, sums, LINE_BYTES);                                                 \
    } while (0)

/* results += the group's sums times the scales of weights and rows. */
INLINE void add_group_q8(vec *results, const struct q8_pass *pass, int group,
                         const int32_t (*sums)[LANES], int height)
{
    const char *from = pass->groups + (size_t)group * sizeof(struct baton_q8_row_group);
    const vec scale =
        load((const float *)(const void *)(pass->panel + (size_t)group * Q8_GROUP_BYTES));
#pragma GCC unroll 16
    for (int r = 0; r < height; r++, from += pass->row_bytes) {
        const struct baton_q8_row_group *row = (const void *)from;
        __m512i sum = _mm512_load_si512(sums[r]);
        sum = _mm512_add_epi32(sum, _mm512_set1_epi32(row->offset)); /* takes out weights' 128 */
        results[r] += (vec)_mm512_cvtepi32_ps(sum) * (scale * row->scale);
    }
}

/* height is a constant where tiles are full, so that results live in registers. */
INLINE void multiply_q8(const struct q8_pass *pass, int height)
{
    _Alignas(LINE_BYTES) int32_t sums[2][TILE_ROWS][LANES];
    vec results[TILE_ROWS];
    struct fetch fetch = pass->fetch;
    int group = 0;
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; r++)
        results[r] = splat(0);
    for (; group + 1 < pass->n_groups; group += 2) {
        fetch_step(&fetch, 1);
        SUM_GROUP(sums[0], SUMS_00, ROWS_0, PANEL_0, pass, group);
        SUM_GROUP(sums[1], SUMS_01, ROWS_1, PANEL_1, pass, group + 1);
        add_group_q8(results, pass, group, sums[0], height);
        add_group_q8(results, pass, group + 1, sums[1], height);
    }
    if (group < pass->n_groups) {
        SUM_GROUP(sums[0], SUMS_00, ROWS_0, PANEL_0, pass, group);
        add_group_q8(results, pass, group, sums[0], height);
    }
#pragma GCC unroll 16
    for (int r = 0; r < height; r++)
        store(pass->results + r * LANES, results[r]);
}

static void multiply_full_q8(const struct q8_pass *pass)
{
    multiply_q8(pass, TILE_ROWS);
}

static void multiply_part_q8(const struct q8_pass *pass)
{
    multiply_q8(pass, pass->height);
}

/* The panel of output out times tiles first_tile..end_tile-1. */
static void panel_q8(const struct baton_linear *job, const struct row_tiles *tiles, int first_tile,
                     int end_tile, int out, int end_out)
{
    _Alignas(LINE_BYTES) float results[TILE_FLOATS];
    const struct baton_packed *w = job->weights;
    const size_t panel_bytes = baton_packed_panel_bytes(BATON_Q8, w->n_in);
    const int n_stored = baton_packed_n_in(BATON_Q8, w->n_in);
    struct q8_pass pass = {.panel =
                               (const char *)w->data + (size_t)(out / BATON_PANEL) * panel_bytes,
                           .row_bytes = tiles->row_bytes,
                           .n_groups = n_stored / BATON_Q8_GROUP,
                           .height = tiles->height,
                           .results = results};
    const char *next = pass.panel + panel_bytes;
    for (int tile = first_tile; tile < end_tile; tile++) {
        pass.rows = rows_of(tiles, tile);
        pass.groups = pass.rows + n_stored;
        pass.fetch =
            tiles->n_tiles == 1
                ? (struct fetch){{pass.panel + FETCH_AHEAD}, 2 * Q8_GROUP_BYTES / LINE_BYTES}
                : fetch_share(next, next, panel_bytes, tile - first_tile, end_tile - first_tile,
                              (pass.n_groups + 1) / 2);
        if (tiles->height == TILE_ROWS)
            multiply_full_q8(&pass);
        else
            multiply_part_q8(&pass);
        finish_tile(job, tiles, tile, out, end_out, results);
    }
}

static void linear_q8(const struct baton_linear *job, int first_out, int end_out)
{
    const size_t row_bytes = baton_quantized_row_bytes(BATON_Q8, job->weights->n_in);
    const struct row_tiles tiles = cut_rows(job, row_bytes, row_bytes);
    for (int tile = 0, end; tile < tiles.n_tiles; tile = end) {
        end = end_of_block(&tiles, tile);
        for (int out = first_out; out < end_out; out += LANES)
            panel_q8(job, &tiles, tile, end, out, end_out);
    }
}

#endif
