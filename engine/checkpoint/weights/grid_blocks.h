/* Blocks whose codes are no planes of bits: points of grids (grids.h; ggml's types IQ1_S to IQ3_S),
 * and digits to the base of 3 (TQ1_0). For blocks.c and the panels of grids.
 *
 * Ownership: nothing is kept.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_CHECKPOINT_WEIGHTS_GRID_BLOCKS_H
#define BATON_ENGINE_CHECKPOINT_WEIGHTS_GRID_BLOCKS_H

#include "engine/checkpoint/weights/blocks.h"

/* As baton_block_unpack, but for codes, which stay as they are: panels of grids have points. */
void baton_grid_block_points(enum baton_block_type type, const uint8_t *block,
                             struct baton_block_codes *codes);

/* As baton_block_unpack and baton_block_pack. */
void baton_grid_block_unpack(enum baton_block_type type, const uint8_t *block,
                             struct baton_block_codes *codes);
void baton_grid_block_pack(enum baton_block_type type, const struct baton_block_codes *codes,
                           uint8_t *block);

/* The codes of a block of TQ1_0, and back. */
void baton_ternary_get(const uint8_t *block, uint8_t *codes);
void baton_ternary_put(const uint8_t *codes, uint8_t *block);

#endif
