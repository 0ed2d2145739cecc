/* Products with bf16 panels; part of sets/amx.c.
 *
 * Every element is one chain over its inputs in order, 32 at a time. Two tiles of rows times two
 * panels share their loads, and their four sums do not wait for each other. A few steps of two
 * panels are multiplied with all rows of a block before the next steps: rows come from the
 * second-level cache, weights from the first. One tile of rows waits for memory only, which serves
 * the streams of two panels best.
 *
 * Pure but for the tiles of the calling thread, which the caller has configured.
 */
#ifndef BATON_ENGINE_KERNELS_AMX_BF16_H
#define BATON_ENGINE_KERNELS_AMX_BF16_H

#include "engine/kernels/amx/rows.h"

enum { BF16_STEPS = 8 }; /* of two panels: 16 KiB, which stay in the first-level cache */

/* Starts the sums, or adds to the stored ones. */
static void multiply_bf16(const struct pass *aimed, bool begins)
{
    const struct pass pass = *aimed;
    struct fetch fetch = pass.fetch;
    if (begins)
        zero_sums();
    else
        load_sums(&pass);
    for (size_t step = 0; step < (size_t)pass.n_steps; step++) {
        fetch_step(&fetch, pass.n_panels);
        load_rows(&pass, step * LINE_BYTES);
        load_panels(&pass, step * TILE_BYTES);
        add_products(&pass);
    }
    store_sums(&pass);
}

/* One panel or two on their way through a block of rows. */
struct bf16_strip {
    _Alignas(LINE_BYTES) float sums[BLOCK_MAX_TILES][PAIR][TILE_FLOATS];
    const char *panel; /* the first; the other, and those after them, follow */
    size_t panel_bytes;
    int n_panels, n_steps; /* of a whole panel */
};

/* The prefetches of one tile of rows: FETCH_AHEAD before each use. */
static struct fetch fetch_ahead(const char *panel, size_t panel_bytes)
{
    const char *at = panel + FETCH_AHEAD;
    return (struct fetch){{at, at + panel_bytes}, TILE_BYTES / LINE_BYTES};
}

/* The share that pass number i prefetches of the weights after the `most` steps from `step` on:
 * the same panels' next steps, or the next pair of panels. */
static struct fetch fetch_bf16(const struct bf16_strip *strip, int step, int most, int i,
                               int n_passes)
{
    const char *next = strip->panel + (size_t)(step + most) * TILE_BYTES;
    if (step + most >= strip->n_steps)
        next = strip->panel + PAIR * strip->panel_bytes;
    return fetch_share(next, next + strip->panel_bytes, (size_t)most * TILE_BYTES, i, n_passes,
                       most);
}

/* Up to `most` steps of inputs, times tiles first_tile..end_tile-1. */
static void add_steps_bf16(struct bf16_strip *strip, const struct row_tiles *tiles, int first_tile,
                           int end_tile, int step, int most)
{
    const char *panel = strip->panel + (size_t)step * TILE_BYTES;
    int n_passes = (end_tile - first_tile + PAIR - 1) / PAIR;
    struct pass pass = {.panels = {panel, panel + strip->panel_bytes},
                        .n_panels = strip->n_panels,
                        .n_steps = strip->n_steps - step < most ? strip->n_steps - step : most};
    for (int tile = first_tile, i = 0; tile < end_tile; tile += PAIR, i++) {
        aim_at_tiles(&pass, tiles, tile, end_tile);
        for (int t = 0; t < pass.n_tiles; t++)
            pass.rows[t] += (size_t)step * LINE_BYTES;
        pass.fetch = tiles->n_tiles == 1 ? fetch_ahead(panel, strip->panel_bytes)
                                         : fetch_bf16(strip, step, most, i, n_passes);
        pass.sums = strip->sums + (tile - first_tile);
        multiply_bf16(&pass, step == 0);
    }
}

/* One panel or two, from output out on, times tiles first_tile..end_tile-1. One tile of rows uses
 * each weight once, and needs no blocks of inputs. */
static void panels_bf16(const struct baton_linear *job, const struct row_tiles *tiles,
                        int first_tile, int end_tile, int out, int end_out)
{
    const struct baton_packed *w = job->weights;
    struct bf16_strip strip;
    strip.panel_bytes = baton_packed_panel_bytes(w->dtype, w->n_in);
    strip.panel = (const char *)w->data + (size_t)(out / BATON_PANEL) * strip.panel_bytes;
    strip.n_panels = end_out - out > LANES ? PAIR : 1;
    strip.n_steps = baton_packed_n_in(w->dtype, w->n_in) / BATON_BF16_STEP;
    const int most = tiles->n_tiles == 1 ? strip.n_steps : BF16_STEPS;
    for (int step = 0; step < strip.n_steps; step += most)
        add_steps_bf16(&strip, tiles, first_tile, end_tile, step, most);
    finish_tiles(job, tiles, first_tile, end_tile - first_tile, out, end_out, strip.sums[0][0],
                 PAIR);
}

static void linear_bf16(const struct baton_linear *job, int first_out, int end_out)
{
    const int n_in = job->weights->n_in;
    const struct row_tiles tiles =
        cut_rows(job, baton_quantized_row_bytes(BATON_BF16, n_in), (size_t)n_in * sizeof(uint16_t));
    const int n_outs = PAIR * LANES;
    for (int tile = 0, end; tile < tiles.n_tiles; tile = end) {
        end = end_of_block(&tiles, tile);
        for (int out = first_out; out < end_out; out += n_outs)
            panels_bf16(job, &tiles, tile, end, out,
                        out + n_outs < end_out ? out + n_outs : end_out);
    }
}

#endif
