/* Encodes weights as ggml's blocks (weights/blocks.h), by a search for the scales with the least
 * sum of squared errors. The same weights give the same bytes on every machine.
 *
 * Ownership: arguments are borrowed for the call.
 * Threading: pure functions.
 * Errors:    none; the type is the caller's promise.
 */
#ifndef BATON_ENGINE_KERNELS_PACK_ENCODE_BLOCKS_H
#define BATON_ENGINE_KERNELS_PACK_ENCODE_BLOCKS_H

#include "engine/checkpoint/weights/blocks.h"

/* Types whose values are evenly spaced: Q2_K..Q6_K, Q4_0..Q5_1, Q8_0. */
bool baton_encodes(enum baton_block_type type);

/* Encodes a row of n weights as blocks. The last block is padded with zeros, which may decode to
 * numbers near zero. A block in which a weight is not finite or is beyond 1e18 becomes zero. */
void baton_encode(enum baton_block_type type, const float *weights, size_t n, uint8_t *blocks);

#endif
