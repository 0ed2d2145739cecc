/* Products with f32 and f16 panels: every element is one chain of multiply-adds over its inputs in
 * order. Part of sets/floats.c.
 *
 *     panels     F32_PANELS at a time: with F32_ROWS rows their sums fill the registers
 *     rows       F32_STRIP at a time: their sums stay in the first-level cache between blocks
 *     inputs     F32_BLOCK at a time: the panels' share of a block stays there for all rows
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_LINEAR_F32_H
#define BATON_ENGINE_KERNELS_LINEAR_F32_H

#include "engine/kernels/attend/kv_element.h"
#include "engine/kernels/linear/epilogue.h"
#include "engine/kernels/pack/quantized.h"

#if ALL_REG_BYTES == 2048
enum { F32_PANELS = 4, F32_ROWS = 6, F32_BLOCK = 64 };
#elif ALL_REG_BYTES == 512
enum { F32_PANELS = 2, F32_ROWS = 3, F32_BLOCK = 96 };
#else
enum { F32_PANELS = 1, F32_ROWS = 2, F32_BLOCK = 128 };
#endif
enum { F32_STRIP = 48, F32_OUTS = F32_PANELS * LANES };

/* The weights of some outputs for a block of inputs, and the rows that they are multiplied with. */
struct f32_block {
    const float *x;
    const char *weights;
    const char *next;   /* the weights to prefetch meanwhile */
    float *sums;        /* [rows][F32_OUTS] */
    size_t n_in;        /* of a whole row */
    size_t panel_bytes; /* of a whole panel */
    size_t n;           /* inputs of this block */
};

/* Bytes of one input's weights of a panel; the dtype is a constant at each call. */
INLINE size_t f32_word_bytes(enum baton_dtype dtype)
{
    return LANES * (dtype == BATON_F16 ? sizeof(uint16_t) : sizeof(float));
}

INLINE reg load_weights(enum baton_dtype dtype, const char *word, int i)
{
    return load_kv(dtype == BATON_F16 ? BATON_KV_F16 : BATON_KV_F32, word, (size_t)(i * REG_LANES));
}

/* sums += products. All but b and row are constants at each call, so that the loops over them
 * unroll and acc lives in registers. */
INLINE void add_f32(enum baton_dtype dtype, const struct f32_block *b, int row, int n_panels,
                    int n_rows, int n_fetch)
{
    const float *x = b->x + (size_t)row * b->n_in;
    float *sums = b->sums + row * F32_OUTS;
    reg acc[F32_PANELS * REGS][F32_ROWS];
    for (int i = 0; i < n_panels * REGS; i++)
        for (int r = 0; r < n_rows; r++)
            acc[i][r] = *(const unaligned_reg *)(sums + r * F32_OUTS + i * REG_LANES);
    for (size_t k = 0; k < b->n; k++) {
        reg in[F32_ROWS];
        for (int p = 0; p < n_fetch; p++)
            __builtin_prefetch(b->next + (size_t)p * b->panel_bytes + k * f32_word_bytes(dtype), 0,
                               2);
        for (int r = 0; r < n_rows; r++)
            in[r] = x[(size_t)r * b->n_in + k] - (reg){0};
        for (int i = 0; i < n_panels * REGS; i++) {
            const char *panel = b->weights + (size_t)(i / REGS) * b->panel_bytes;
            reg weight = load_weights(dtype, panel + k * f32_word_bytes(dtype), i % REGS);
            for (int r = 0; r < n_rows; r++)
                acc[i][r] += weight * in[r];
        }
    }
    for (int i = 0; i < n_panels * REGS; i++)
        for (int r = 0; r < n_rows; r++)
            *(unaligned_reg *)(sums + r * F32_OUTS + i * REG_LANES) = acc[i][r];
}

/* The same for n_rows >= 1, of which it adds at most F32_ROWS. */
INLINE void add_rows_f32(enum baton_dtype dtype, const struct f32_block *b, int row, int n_panels,
                         int n_rows, int n_fetch)
{
    _Static_assert(F32_ROWS <= 6, "one case for each");
    if (n_rows >= F32_ROWS)
        add_f32(dtype, b, row, n_panels, F32_ROWS, n_fetch);
    else if (F32_ROWS > 5 && n_rows == 5)
        add_f32(dtype, b, row, n_panels, 5, n_fetch);
    else if (F32_ROWS > 4 && n_rows == 4)
        add_f32(dtype, b, row, n_panels, 4, n_fetch);
    else if (F32_ROWS > 3 && n_rows == 3)
        add_f32(dtype, b, row, n_panels, 3, n_fetch);
    else if (F32_ROWS > 2 && n_rows == 2)
        add_f32(dtype, b, row, n_panels, 2, n_fetch);
    else
        add_f32(dtype, b, row, n_panels, 1, n_fetch);
}

/* The first two of several tiles prefetch the next block's weights into the second-level cache:
 * memory works while the other tiles find their weights in the first level. */
INLINE void add_block_f32(enum baton_dtype dtype, struct f32_block *b, int n_panels, int n_rows)
{
    const int share = (n_panels + 1) / 2;
    if (n_rows <= F32_ROWS) {
        add_rows_f32(dtype, b, 0, n_panels, n_rows, 0);
        return;
    }
    for (int row = 0, n_asked = 0; row < n_rows; row += F32_ROWS, n_asked += share) {
        if (n_asked < n_panels)
            add_rows_f32(dtype, b, row, n_panels, n_rows - row, share);
        else
            add_rows_f32(dtype, b, row, n_panels, n_rows - row, 0);
        b->next += (size_t)share * b->panel_bytes;
    }
}

/* Multiplies n_panels panels with at most F32_STRIP rows. */
INLINE void strip_f32(enum baton_dtype dtype, const struct baton_linear *job, int out, int end_out,
                      int n_panels, int row, int n_rows)
{
    _Alignas(vec) float sums[F32_STRIP * F32_OUTS];
    const size_t n_in = (size_t)job->weights->n_in;
    const size_t panel_bytes = baton_packed_panel_bytes(dtype, job->weights->n_in);
    const char *panels = (const char *)job->weights->data + (size_t)(out / LANES) * panel_bytes;
    size_t step = n_rows <= F32_ROWS ? n_in : F32_BLOCK; /* one tile uses each weight once */
    memset(sums, 0, (size_t)n_rows * F32_OUTS * sizeof *sums);
    for (size_t k = 0; k < n_in; k += step) {
        struct f32_block block = {.x = (const float *)job->x + (size_t)row * n_in + k,
                                  .weights = panels + k * f32_word_bytes(dtype),
                                  .next = panels + (k + step) * f32_word_bytes(dtype),
                                  .sums = sums,
                                  .n_in = n_in,
                                  .panel_bytes = panel_bytes,
                                  .n = n_in - k < step ? n_in - k : step};
        if (n_in - k <= step)
            block.next = panels + (size_t)n_panels * panel_bytes;
        add_block_f32(dtype, &block, n_panels, n_rows);
    }
    finish_block(job, row, n_rows, out, end_out, sums, F32_OUTS);
}

INLINE void panels_f32(enum baton_dtype dtype, const struct baton_linear *job, int out, int end_out,
                       int n_panels)
{
    int end = end_out - out < n_panels * LANES ? end_out : out + n_panels * LANES;
    for (int row = 0; row < job->n_rows; row += F32_STRIP)
        strip_f32(dtype, job, out, end, n_panels, row,
                  job->n_rows - row < F32_STRIP ? job->n_rows - row : F32_STRIP);
}

/* One row waits for memory only, which serves one stream of addresses best: it multiplies one panel
 * at a time. */
INLINE void all_panels_f32(enum baton_dtype dtype, const struct baton_linear *job, int first_out,
                           int end_out)
{
    int out = first_out;
    if (job->n_rows > 1)
        for (; out + F32_OUTS - LANES < end_out; out += F32_OUTS)
            panels_f32(dtype, job, out, end_out, F32_PANELS);
    for (; out < end_out; out += LANES)
        panels_f32(dtype, job, out, end_out, 1);
}

static size_t row_bytes_f32(int n_in)
{
    return baton_quantized_row_bytes(BATON_F32, n_in);
}

static void copy_rows(const float *x, int n_in, int first_row, int end_row, void *quantized)
{
    size_t n = (size_t)n_in, first = (size_t)first_row;
    memcpy((float *)quantized + first * n, x + first * n,
           (size_t)(end_row - first_row) * n * sizeof *x);
}

static void linear_f32(const struct baton_linear *job, int first_out, int end_out)
{
    all_panels_f32(BATON_F32, job, first_out, end_out);
}

static void linear_f16(const struct baton_linear *job, int first_out, int end_out)
{
    all_panels_f32(BATON_F16, job, first_out, end_out);
}

#endif
