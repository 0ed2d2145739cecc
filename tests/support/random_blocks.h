/* Reproducible blocks of GGUF's types (engine/checkpoint/weights/blocks.h), whose values are about
 * as large as a model's weights.
 *
 * Ownership: the caller frees what it gets.
 * Threading: any thread.
 * Errors:    assertions.
 */
#ifndef BATON_TESTS_SUPPORT_RANDOM_BLOCKS_H
#define BATON_TESTS_SUPPORT_RANDOM_BLOCKS_H

#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "engine/checkpoint/weights/blocks.h"
#include "engine/sampling/philox.h"

/* Numbers of a sequence, in order. */
struct random_source {
    uint64_t seed, n;
};

/* least .. greatest, both included. */
static inline int random_integer(struct random_source *source, int least, int greatest)
{
    double u = baton_philox_uniform(source->seed, source->n++);
    return least + (int)(u * (greatest - least + 1));
}

/* Random points, signs and scales of one block; its scale is about the others'. */
static inline void random_grid_block(enum baton_block_type type, struct random_source *source,
                                     uint8_t *block)
{
    struct baton_block_codes codes;
    for (size_t i = 0; i < baton_block_bytes(type); i++)
        block[i] = (uint8_t)random_integer(source, 0, 255);
    baton_block_unpack(type, block, &codes);
    codes.d = (float)random_integer(source, -99, 99) * 0x1p-17F;
    baton_block_pack(type, &codes, block);
}

/* One block of codes, of any type but those of plain floats. */
static inline void random_block(enum baton_block_type type, struct random_source *source,
                                uint8_t *block)
{
    const struct baton_block_codes_form *form = baton_block_codes_form(type);
    const int n_values = (int)baton_block_values(type),
              n_levels = type == BATON_BLOCK_TQ1_0 ? 3 : 1 << form->n_bits;
    struct baton_block_codes codes = {.scales = {1}, .mins = {form->has_min}};
    if (form->has_grid) {
        random_grid_block(type, source, block);
        return;
    }
    if (form->max_scale)
        for (int g = 0; g < n_values / form->n_group; g++) {
            codes.scales[g] = (int8_t)random_integer(source, form->min_scale, form->max_scale);
            if (form->has_min)
                codes.mins[g] = (uint8_t)random_integer(source, 0, form->max_scale);
        }
    for (int i = 0; i < n_values; i++)
        codes.codes[i] = (uint8_t)random_integer(source, 0, n_levels - 1);
    if (form->has_e4m3)
        codes.d = 0.5F;
    else
        codes.d = type == BATON_BLOCK_MXFP4 ? ldexpf(1, random_integer(source, -9, -5))
                                            : (float)random_integer(source, -99, 99) * 0x1p-14F;
    codes.min = form->has_min ? (float)random_integer(source, -99, 99) * 0x1p-12F : 0;
    baton_block_pack(type, &codes, block);
}

static inline uint8_t *random_blocks(enum baton_block_type type, size_t n_blocks, uint64_t seed)
{
    struct random_source source = {.seed = seed};
    uint8_t *blocks = calloc(n_blocks, baton_block_bytes(type));
    assert_non_null(blocks);
    for (size_t b = 0; b < n_blocks; b++)
        random_block(type, &source, blocks + b * baton_block_bytes(type));
    return blocks;
}

#endif
