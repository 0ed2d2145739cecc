/* Random blocks of ggml's types: bytes of a sequence, with scales that spread the values about as
 * far as baton_random_weight does (a standard deviation near 0.035, about zero).
 *
 * Pure.
 */
#ifndef BATON_ENGINE_MODEL_RANDOM_BLOCKS_H
#define BATON_ENGINE_MODEL_RANDOM_BLOCKS_H

#include "engine/checkpoint/weights/blocks.h"

/* n_blocks blocks of a type of codes (not F32, F16, BF16). *state is the sequence's place: any
 * number begins one. */
void baton_random_blocks(enum baton_block_type type, uint64_t *state, size_t n_blocks,
                         uint8_t *blocks);

#endif
