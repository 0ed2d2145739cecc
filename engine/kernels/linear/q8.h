/* Products with q8 panels. Part of sets/q8.c.
 *
 * Sums within a group are integers, exact whatever their order and instructions; an element is the
 * chain of its groups in order, each scaled and added in f32.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_LINEAR_Q8_H
#define BATON_ENGINE_KERNELS_LINEAR_Q8_H

#include "engine/kernels/linear/dot_pairs.h"
#include "engine/kernels/linear/dot_q8.h"
#include "engine/kernels/linear/tiles.h"

/* ---- rows ---- */

static size_t row_bytes_q8(int n_in)
{
    return baton_quantized_row_bytes(BATON_Q8, n_in);
}

/* Finds the maxima of all groups before it rounds: a group's search is a chain of dependent
 * instructions, and the CPU overlaps the chains of many groups. */
static void quantize_q8_row(const float *x, int n_in, int8_t *bytes,
                            struct baton_q8_row_group *groups)
{
    float copy[BATON_Q8_GROUP];
    for (int k = 0; k < n_in; k += BATON_Q8_GROUP)
        groups[k / BATON_Q8_GROUP].scale = most_of(block_at(x, k, n_in, BATON_Q8_GROUP, copy));
    for (int k = 0; k < n_in; k += BATON_Q8_GROUP) {
        struct baton_q8_row_group *group = &groups[k / BATON_Q8_GROUP];
        const float *from = block_at(x, k, n_in, BATON_Q8_GROUP, copy);
        group->offset = (int32_t)(-128u * store_q8(from, group->scale, BATON_Q8_GROUP, bytes + k));
        group->scale *= 1.0F / 127;
    }
}

static void quantize_q8(const float *x, int n_in, int first_row, int end_row, void *quantized)
{
    size_t row_bytes = baton_quantized_row_bytes(BATON_Q8, n_in);
    int n_stored = baton_packed_n_in(BATON_Q8, n_in);
    for (size_t row = (size_t)first_row; row < (size_t)end_row; row++) {
        char *to = (char *)quantized + row * row_bytes;
        quantize_q8_row(x + row * (size_t)n_in, n_in, (int8_t *)to, (void *)(to + n_stored));
    }
}

/* ---- tiles ---- */

/* results += the group's sums times the scales of weights and rows. */
INLINE void add_group_q8(float *results, q8_sum sums[][REGS], const char *scales,
                         const struct row_cursor *groups, int n_rows)
{
    reg scale[REGS];
    for (int i = 0; i < REGS; i++)
        scale[i] = load_reg(scales + i * REG_BYTES);
    UNROLL
    for (int r = 0; r < n_rows; r++) {
        const struct baton_q8_row_group *group = (const void *)row_of(groups, r);
        for (int i = 0; i < REGS; i++) {
            float *result = results + r * LANES + i * REG_LANES;
            reg values = __builtin_convertvector(sums[r][i], reg);
            store_reg(result, load_reg(result) + values * (scale[i] * group->scale));
        }
    }
}

/* Sums up a group's products, 16 words of weights for each four bytes of x. */
INLINE void sum_group_q8(q8_sum sums[][REGS], const char *words, struct row_cursor *x,
                         const struct row_cursor *groups, int n_rows)
{
    const bool few_rows = n_rows <= 4;
#if MULTIPLIES_PAIRS
    if (n_rows > 1) {
        sum_pairs(sums, words, BATON_Q8_GROUP, x, n_rows);
        advance(x, BATON_Q8_GROUP, n_rows);
        return;
    }
#endif
    UNROLL
    for (int r = 0; r < n_rows; r++) {
        const struct baton_q8_row_group *group = (const void *)row_of(groups, r);
        for (int i = 0; i < REGS; i++)
            sums[r][i] = start_q8(group->offset);
    }
#pragma GCC unroll 1
    for (int n = 0; n < BATON_Q8_GROUP; n += 4, words += LINE_BYTES) {
        fetch_ahead(words, few_rows);
        for (int i = 0; i < REGS; i++) {
            struct q8_words loaded = load_q8(words + i * REG_BYTES);
            UNROLL
            for (int r = 0; r < n_rows; r++)
                sums[r][i] = add_q8(sums[r][i], loaded, row_of(x, r));
        }
        advance(x, 4, n_rows);
    }
    fetch_ahead(words, few_rows); /* the next group's scales */
}

INLINE void tile_q8(const struct tile *tile, int n_rows)
{
    enum { SCALES_BYTES = LINE_BYTES, GROUP_BYTES = SCALES_BYTES + BATON_Q8_GROUP * BATON_PANEL };
    struct row_cursor x = cursor_at(tile->x, tile->row_bytes, n_rows);
    struct row_cursor groups = cursor_at(tile->x + tile->n_in, tile->row_bytes, n_rows);
    const char *group = tile->panel;
    memset(tile->results, 0, (size_t)n_rows * LANES * sizeof *tile->results);
    for (int k = 0; k < tile->n_in; k += BATON_Q8_GROUP, group += GROUP_BYTES) {
        q8_sum sums[MOST_ROWS][REGS];
        sum_group_q8(sums, group + SCALES_BYTES, &x, &groups, n_rows);
        add_group_q8(tile->results, sums, group, &groups, n_rows);
        advance(&groups, sizeof(struct baton_q8_row_group), n_rows);
    }
}

TILE_TABLE(tile_q8);

static void linear_q8(const struct baton_linear *job, int first_out, int end_out)
{
    run_tiles(job, first_out, end_out, tile_q8s);
}

#endif
