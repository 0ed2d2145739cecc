/* The rows of x as tiles and blocks of tiles; part of sets/amx.c and sets/native_*.c.
 *
 * All tiles have the same height, so that one configuration serves them. Where the number of rows
 * is not a multiple of 16, the last tile begins so much earlier that it overlaps the one before,
 * and only the rows that the other lacks are written to y.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_AMX_ROWS_H
#define BATON_ENGINE_KERNELS_AMX_ROWS_H

#include "engine/kernels/amx/tiles.h"

enum {
    BLOCK_MAX_TILES = 32,
    BLOCK_BYTES = 3 << 19 /* of x: three quarters of Sapphire Rapids' second-level cache */
};

struct row_tiles {
    const char *x;
    size_t row_bytes; /* from one row to the next */
    int n_rows, height, n_tiles;
    int n_per_block; /* tiles whose rows stay in the cache while all panels pass; even */
};

INLINE int tile_height(int n_rows)
{
    return n_rows < TILE_ROWS ? n_rows : TILE_ROWS;
}

/* Cuts the rows into as few blocks as the cache allows, of as equal size as possible. x_bytes are
 * the bytes of a row that are read, without its padding. */
static struct row_tiles cut_rows(const struct baton_linear *job, size_t row_bytes, size_t x_bytes)
{
    struct row_tiles tiles = {.x = job->x,
                              .row_bytes = row_bytes,
                              .n_rows = job->n_rows,
                              .height = tile_height(job->n_rows),
                              .n_tiles = (job->n_rows + TILE_ROWS - 1) / TILE_ROWS};
    size_t n_fit = BLOCK_BYTES / (x_bytes * TILE_ROWS) / PAIR * PAIR;
    int n_most = n_fit > BLOCK_MAX_TILES ? BLOCK_MAX_TILES : n_fit ? (int)n_fit : PAIR;
    int n_blocks = (tiles.n_tiles + n_most - 1) / n_most;
    int n_alike = (tiles.n_tiles + n_blocks - 1) / n_blocks;
    tiles.n_per_block = (n_alike + PAIR - 1) / PAIR * PAIR;
    return tiles;
}

/* The tile past the block that begins with tile `first`. */
INLINE int end_of_block(const struct row_tiles *tiles, int first)
{
    int n_left = tiles->n_tiles - first;
    return first + (n_left < tiles->n_per_block ? n_left : tiles->n_per_block);
}

INLINE int first_row(const struct row_tiles *tiles, int tile)
{
    int row = tile * TILE_ROWS, last = tiles->n_rows - tiles->height;
    return row < last ? row : last;
}

INLINE const char *rows_of(const struct row_tiles *tiles, int tile)
{
    return tiles->x + (size_t)first_row(tiles, tile) * tiles->row_bytes;
}

/* Sets the pass to this tile and, if that is before end_tile, to the next one. */
INLINE void aim_at_tiles(struct pass *pass, const struct row_tiles *tiles, int tile, int end_tile)
{
    pass->row_bytes = tiles->row_bytes;
    pass->n_tiles = end_tile - tile > 1 ? PAIR : 1;
    for (int t = 0; t < pass->n_tiles; t++)
        pass->rows[t] = rows_of(tiles, tile + t);
}

/* Writes the tile's own rows to y, all panels of a row together, so that a few neighbouring lines
 * of y are written at a time. sums [n_panels][16][16]. */
static void finish_tile(const struct baton_linear *job, const struct row_tiles *tiles, int tile,
                        int out, int end_out, const float *sums)
{
    int first = first_row(tiles, tile);
    for (int row = tile * TILE_ROWS; row < first + tiles->height; row++) {
        const float *of_row = sums + (row - first) * LANES;
        for (int o = out; o < end_out; o += LANES, of_row += TILE_FLOATS)
            finish_vec(job, row, o, end_out - o < LANES ? end_out - o : LANES, load(of_row));
    }
}

/* The same for n_tiles tiles from `tile` on. sums [n_tiles][most_panels][16][16]. */
static void finish_tiles(const struct baton_linear *job, const struct row_tiles *tiles, int tile,
                         int n_tiles, int out, int end_out, const float *sums, int most_panels)
{
    for (int t = 0; t < n_tiles; t++, sums += most_panels * TILE_FLOATS)
        finish_tile(job, tiles, tile + t, out, end_out, sums);
}

#endif
