/* Products with bf16 panels; part of amx.c.
 *
 * Every element is one chain over its inputs in order, 32 at a time. Two tiles of rows times two
 * panels share their loads, and no sum waits for the one before; one tile of rows waits for memory
 * only, which serves one stream of addresses best.
 *
 * Pure but for the tiles of the calling thread, which the caller has configured.
 */
#ifndef BATON_KERNELS_AMX_BF16_H
#define BATON_KERNELS_AMX_BF16_H

#include "common/engine/kernels/amx_rows.h"

static void multiply_bf16(const struct pass *aimed)
{
    const struct pass pass = *aimed;
    struct fetch fetch = pass.fetch;
    zero_sums();
    for (size_t step = 0; step < (size_t)pass.n_steps; step++) {
        fetch_step(&fetch, pass.n_panels);
        load_rows(&pass, step * LINE_BYTES);
        load_panels(&pass, step * TILE_BYTES);
        add_products(&pass);
    }
    store_sums(&pass);
}

/* One panel or two, from output out on, times tiles first_tile..end_tile-1. */
static void panels_bf16(const struct baton_linear *job, const struct row_tiles *tiles,
                        int first_tile, int end_tile, int out, int end_out)
{
    _Alignas(LINE_BYTES) float sums[PAIR][PAIR][TILE_FLOATS];
    const struct baton_packed *w = job->weights;
    const size_t panel_bytes = baton_packed_panel_bytes(w->dtype, w->n_in);
    const char *panel = (const char *)w->data + (size_t)(out / BATON_PANEL) * panel_bytes;
    const char *next = panel + PAIR * panel_bytes;
    int n_passes = (end_tile - first_tile + PAIR - 1) / PAIR;
    struct pass pass = {.panels = {panel, panel + panel_bytes},
                        .n_panels = end_out - out > LANES ? PAIR : 1,
                        .n_steps = baton_packed_n_in(w->dtype, w->n_in) / BATON_BF16_STEP,
                        .sums = sums};
    for (int tile = first_tile, i = 0; tile < end_tile; tile += PAIR, i++) {
        aim_at_tiles(&pass, tiles, tile, end_tile);
        pass.fetch =
            tiles->n_tiles == 1
                ? (struct fetch){{panel + FETCH_AHEAD}, TILE_BYTES / LINE_BYTES}
                : fetch_share(next, next + panel_bytes, panel_bytes, i, n_passes, pass.n_steps);
        multiply_bf16(&pass);
        finish_tiles(job, tiles, tile, pass.n_tiles, out, end_out, sums);
    }
}

static void linear_bf16(const struct baton_linear *job, int first_out, int end_out)
{
    const int n_in = job->weights->n_in;
    const struct row_tiles tiles =
        cut_rows(job, baton_quantized_row_bytes(BATON_BF16, n_in), (size_t)n_in * sizeof(uint16_t));
    const int n_outs = tiles.n_tiles == 1 ? LANES : PAIR * LANES;
    for (int tile = 0, end; tile < tiles.n_tiles; tile = end) {
        end = end_of_block(&tiles, tile);
        for (int out = first_out; out < end_out; out += n_outs)
            panels_bf16(job, &tiles, tile, end, out,
                        out + n_outs < end_out ? out + n_outs : end_out);
    }
}

#endif
