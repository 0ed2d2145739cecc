/* Products with weights that lie row by row, [n_out][n_in]: each is read from memory once for all
 * rows of x. Part of sets/floats.c.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_LINEAR_ROW_MAJOR_H
#define BATON_ENGINE_KERNELS_LINEAR_ROW_MAJOR_H

#include "engine/kernels/linear/epilogue.h"
#include "engine/kernels/linear/rows.h"

/* The tile of outputs and rows whose sums fit the registers, and the number of rows from which on
 * OpenBLAS is faster (measured). */
#if ALL_REG_BYTES == 2048
enum { TILE_OUTS = 4, TILE_ROWS = 4, DENSE_MIN_ROWS = 128 };
#elif ALL_REG_BYTES == 512
enum { TILE_OUTS = 2, TILE_ROWS = 2, DENSE_MIN_ROWS = 32 };
#else
enum { TILE_OUTS = 1, TILE_ROWS = 2, DENSE_MIN_ROWS = 16 };
#endif

/* Prefetches a cache line into the first level, or into the second only. */
INLINE void fetch_line(const float *p, bool first_level)
{
    if (first_level)
        __builtin_prefetch(p, 0, 3);
    else
        __builtin_prefetch(p, 0, 2);
}

/* results[r][o] = row + r of x dot row out + o of the weights. n_outs, n_rows and n_fetch are
 * constants at each call, so that the loops over them unroll and acc lives in registers.
 *
 * Meanwhile n_fetch rows of weights, from next on, are prefetched in the order of their addresses:
 * the loops alone would read n_outs short streams at a time, which DRAM serves at half its speed.
 * Where several rows of x share the first-level cache with the weights, they go to the second. */
INLINE void linear_tile(const struct baton_linear *job, int out, int row, int n_outs, int n_rows,
                        int n_fetch, const float *next, float *results)
{
    const size_t n_in = (size_t)job->weights->n_in;
    const float *w = (const float *)job->weights->data + (size_t)out * n_in;
    const float *x = (const float *)job->x + (size_t)row * n_in;
    union {
        reg part[REGS];
        vec whole;
    } acc[TILE_OUTS][TILE_ROWS] = {0};
    size_t k = 0;
    for (; k + LANES <= n_in; k += LANES) {
        for (int o = 0; o < n_outs; o++) {
            if (o < n_fetch)
                fetch_line(next + n_fetch * k + o * LANES, n_rows <= 2);
            for (int i = 0; i < REGS; i++) {
                reg weight = *(const unaligned_reg *)(w + o * n_in + k + i * REG_LANES);
                for (int r = 0; r < n_rows; r++)
                    acc[o][r].part[i] +=
                        weight * *(const unaligned_reg *)(x + r * n_in + k + i * REG_LANES);
            }
        }
    }
    int rest = (int)(n_in - k);
    for (int o = 0; o < n_outs; o++) {
        for (int r = 0; r < n_rows; r++) {
            if (rest)
                acc[o][r].whole +=
                    load_part(w + o * n_in + k, rest) * load_part(x + r * n_in + k, rest);
            results[r * LANES + o] = sum_lanes(acc[o][r].whole);
        }
    }
}

/* The same for n_rows >= 1, of which it multiplies at most a tile's. */
INLINE void linear_rows(const struct baton_linear *job, int out, int row, int n_outs, int n_rows,
                        int n_fetch, const float *next, float *results)
{
    _Static_assert(TILE_ROWS == 2 || TILE_ROWS == 4, "one case for each");
    if (n_rows >= TILE_ROWS)
        linear_tile(job, out, row, n_outs, TILE_ROWS, n_fetch, next, results);
    else if (TILE_ROWS == 4 && n_rows == 3)
        linear_tile(job, out, row, n_outs, TILE_ROWS - 1, n_fetch, next, results);
    else if (TILE_ROWS == 4 && n_rows == 2)
        linear_tile(job, out, row, n_outs, TILE_ROWS / 2, n_fetch, next, results);
    else
        linear_tile(job, out, row, n_outs, 1, n_fetch, next, results);
}

/* All tiles of rows for n_outs outputs. The first rows' tiles fetch the next outputs' weights
 * between them, in equal shares, so that memory works while every one of them computes. */
INLINE void linear_outs(const struct baton_linear *job, int out, int row, int n_outs, int n_rows,
                        float *results)
{
    const size_t n_in = (size_t)job->weights->n_in;
    const float *next = (const float *)job->weights->data + (size_t)(out + n_outs) * n_in;
    int n_tiles = (n_rows + TILE_ROWS - 1) / TILE_ROWS, n_fetched = row ? n_outs : 0;
    int share = n_tiles == 1 ? n_outs : n_tiles < n_outs ? n_outs / 2 : 1;
    for (int r = 0; r < n_rows; r += TILE_ROWS) {
        float *to = results + r * LANES;
        if (n_fetched >= n_outs)
            linear_rows(job, out, row + r, n_outs, n_rows - r, 0, next, to);
        else if (share == 1)
            linear_rows(job, out, row + r, n_outs, n_rows - r, 1, next, to);
        else if (share == n_outs)
            linear_rows(job, out, row + r, n_outs, n_rows - r, n_outs, next, to);
        else
            linear_rows(job, out, row + r, n_outs, n_rows - r, n_outs / 2, next, to);
        n_fetched += share;
        next += (size_t)share * n_in;
    }
}

/* A strip of at most 16 outputs for at most STRIP_ROWS rows: the weights come from memory for the
 * first rows and from the cache for the others. */
enum { STRIP_ROWS = 32 };

static void linear_strip(const struct baton_linear *job, int out, int n_outs)
{
    float results[STRIP_ROWS * LANES];
    for (int row = 0; row < job->n_rows; row += STRIP_ROWS) {
        int n_rows = job->n_rows - row < STRIP_ROWS ? job->n_rows - row : STRIP_ROWS;
        int o = 0;
        for (; o + TILE_OUTS <= n_outs; o += TILE_OUTS)
            linear_outs(job, out + o, row, TILE_OUTS, n_rows, results + o);
        for (; o < n_outs; o++)
            linear_outs(job, out + o, row, 1, n_rows, results + o);
        finish_block(job, row, n_rows, out, out + n_outs, results, LANES);
    }
}

static void linear_by_rows(const struct baton_linear *job, int first_out, int end_out)
{
    for (int out = first_out; out < end_out; out += LANES)
        linear_strip(job, out, end_out - out < LANES ? end_out - out : LANES);
}

static void finish(const struct baton_linear *job, int row, int n_rows, int first_out, int end_out,
                   const float *products, size_t stride)
{
    finish_block(job, row, n_rows, first_out, end_out, products, stride);
}

#endif
