/* Products with f32 panels, nearly as exact as in f32; part of sets/amx.c.
 *
 * Weights and rows are sums of a high and a low bfloat16 (split.h). Of the four products of their
 * parts, low times low is left out, which is no greater than the error of the split; the other
 * three are added to one chain of sums, 32 inputs at a time and in order. Rows are split once for
 * all panels, weights once for a block of rows: a few inputs at a time, which all tiles of rows
 * find in the first-level cache.
 *
 * Pure but for the tiles of the calling thread, which the caller has configured.
 */
#ifndef BATON_ENGINE_KERNELS_AMX_F32_H
#define BATON_ENGINE_KERNELS_AMX_F32_H

#include "engine/kernels/amx/rows.h"
#include "engine/kernels/amx/split.h"

enum { F32_STEPS = 8, F32_INPUTS = F32_STEPS * SPLIT_STEP };

/* One panel or two on their way through a block of rows. */
struct f32_strip {
    _Alignas(LINE_BYTES) char weights[PAIR][F32_STEPS * SPLIT_PANEL_STEP_BYTES];
    _Alignas(LINE_BYTES) float sums[BLOCK_MAX_TILES][PAIR][TILE_FLOATS];
    const float *panels; /* as they are stored, one after the other */
    int n_in, n_panels;
};

INLINE void add_split_products(const struct pass *pass, size_t row, size_t panel)
{
    load_rows(pass, row + LINE_BYTES);
    load_panels(pass, panel);
    add_products(pass); /* low rows, high weights */
    load_rows(pass, row);
    add_products(pass); /* high, high */
    load_panels(pass, panel + TILE_BYTES);
    add_products(pass); /* high, low */
}

/* Starts the sums, or adds to the stored ones. */
static void multiply_f32(const struct pass *aimed, bool begins)
{
    const struct pass pass = *aimed;
    struct fetch fetch = pass.fetch;
    if (begins)
        zero_sums();
    else
        load_sums(&pass);
    for (size_t step = 0; step < (size_t)pass.n_steps; step++) {
        const size_t row = step * SPLIT_ROW_STEP_BYTES, panel = step * SPLIT_PANEL_STEP_BYTES;
        fetch_step(&fetch, pass.n_panels);
        add_split_products(&pass, row, panel);
    }
    store_sums(&pass);
}

/* The share that pass number i prefetches of the weights after the block from input k on: the same
 * panels' next block, or the next pair of panels. */
static struct fetch fetch_f32(const struct f32_strip *strip, int k, int i, int n_passes)
{
    const size_t panel_floats = (size_t)strip->n_in * LANES;
    const float *next = strip->panels + (size_t)(k + F32_INPUTS) * LANES;
    if (k + F32_INPUTS >= strip->n_in)
        next = strip->panels + PAIR * panel_floats;
    return fetch_share((const char *)next, (const char *)(next + panel_floats),
                       F32_INPUTS * LINE_BYTES, i, n_passes, F32_STEPS);
}

/* A block of inputs from k on, times tiles first_tile..end_tile-1. */
static void add_inputs_f32(struct f32_strip *strip, const struct row_tiles *tiles, int first_tile,
                           int end_tile, int k)
{
    const int n = strip->n_in - k < F32_INPUTS ? strip->n_in - k : F32_INPUTS;
    const int n_passes = (end_tile - first_tile + PAIR - 1) / PAIR;
    struct pass pass = {.panels = {strip->weights[0], strip->weights[1]},
                        .n_panels = strip->n_panels,
                        .n_steps = (n + SPLIT_STEP - 1) / SPLIT_STEP};
    for (size_t p = 0; p < (size_t)strip->n_panels; p++)
        split_panel(strip->panels + (p * (size_t)strip->n_in + (size_t)k) * LANES, n, false,
                    strip->weights[p]);
    for (int tile = first_tile, i = 0; tile < end_tile; tile += PAIR, i++) {
        aim_at_tiles(&pass, tiles, tile, end_tile);
        for (int t = 0; t < pass.n_tiles; t++)
            pass.rows[t] += (size_t)k / SPLIT_STEP * SPLIT_ROW_STEP_BYTES;
        pass.fetch = fetch_f32(strip, k, i, n_passes);
        pass.sums = strip->sums + (tile - first_tile);
        multiply_f32(&pass, k == 0);
    }
}

/* One tile of rows uses each weight once. A step's weights are split while memory brings the next
 * ones, and are multiplied a step later: a tile that is loaded right after its stores would wait
 * until they have reached the cache. Two panels are two streams, which the hardware's prefetching
 * serves faster than one. */
static void panels_alone_f32(const struct baton_linear *job, const struct row_tiles *tiles, int out,
                             int end_out)
{
    enum { N_SPLITS = 2 };
    _Alignas(LINE_BYTES) char weights[PAIR][N_SPLITS * SPLIT_PANEL_STEP_BYTES];
    _Alignas(LINE_BYTES) float sums[1][PAIR][TILE_FLOATS];
    const int n_in = job->weights->n_in;
    const float *panel = (const float *)job->weights->data + (size_t)out * (size_t)n_in;
    struct pass pass = {.panels = {weights[0], weights[1]},
                        .n_panels = end_out - out > LANES ? PAIR : 1,
                        .sums = sums};
    aim_at_tiles(&pass, tiles, 0, 1);
    zero_sums();
    for (int k = 0, i = 0; k < n_in + SPLIT_STEP; k += SPLIT_STEP, i++) {
        size_t split = (size_t)(i % N_SPLITS) * SPLIT_PANEL_STEP_BYTES;
        int n = n_in - k < SPLIT_STEP ? n_in - k : SPLIT_STEP;
        for (int p = 0; p < pass.n_panels && n > 0; p++)
            split_panel(panel + ((size_t)p * (size_t)n_in + (size_t)k) * LANES, n, true,
                        weights[p] + split);
        if (i)
            add_split_products(&pass, (size_t)(i - 1) * SPLIT_ROW_STEP_BYTES,
                               (size_t)((i - 1) % N_SPLITS) * SPLIT_PANEL_STEP_BYTES);
    }
    store_sums(&pass);
    finish_tile(job, tiles, 0, out, end_out, sums[0][0]);
}

/* Up to two panels, from output out on, times tiles first_tile..end_tile-1. */
static void panels_f32(struct f32_strip *strip, const struct baton_linear *job,
                       const struct row_tiles *tiles, int first_tile, int end_tile, int out,
                       int end_out)
{
    strip->panels = (const float *)job->weights->data + (size_t)out * (size_t)strip->n_in;
    strip->n_panels = end_out - out > LANES ? PAIR : 1;
    for (int k = 0; k < strip->n_in; k += F32_INPUTS)
        add_inputs_f32(strip, tiles, first_tile, end_tile, k);
    finish_tiles(job, tiles, first_tile, end_tile - first_tile, out, end_out, strip->sums[0][0],
                 PAIR);
}

static void linear_f32(const struct baton_linear *job, int first_out, int end_out)
{
    const int n_in = job->weights->n_in, n_outs = PAIR * LANES;
    const struct row_tiles tiles =
        cut_rows(job, baton_split_row_bytes(n_in), (size_t)n_in * sizeof(float));
    struct f32_strip strip;
    strip.n_in = n_in;
    for (int tile = 0, end_tile; tile < tiles.n_tiles; tile = end_tile) {
        end_tile = end_of_block(&tiles, tile);
        for (int out = first_out; out < end_out; out += n_outs) {
            int end = out + n_outs < end_out ? out + n_outs : end_out;
            if (tiles.n_tiles == 1)
                panels_alone_f32(job, &tiles, out, end);
            else
                panels_f32(&strip, job, &tiles, tile, end_tile, out, end);
        }
    }
}

#endif
