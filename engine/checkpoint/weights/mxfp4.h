/* MXFP4 in gpt-oss checkpoints: 4-bit floats (E2M1), 32 of which share a scale. ggml's MXFP4
 * (blocks.h) has the same values in another order.
 *
 *     blocks   16 bytes a block: values 2i and 2i + 1 are the low and the high half of byte i
 *     scales   one byte a block, E8M0: 2^(byte - 127); 255 is NaN
 *
 *     nibble   0  1   2  3   4  5  6  7  8..15
 *     value    0  .5  1  1.5 2  3  4  6  the same, negative (0: positive)
 *
 * Source: OCP Microscaling Formats (MX) Specification 1.0, sections 5.3 and 5.4.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_CHECKPOINT_WEIGHTS_MXFP4_H
#define BATON_ENGINE_CHECKPOINT_WEIGHTS_MXFP4_H

#include <stddef.h>
#include <stdint.h>

enum { BATON_MXFP4_BLOCK = 32, BATON_MXFP4_BLOCK_BYTES = 16 };

/* Decodes n_blocks blocks and their scales to float [n_blocks][32], exactly. */
void baton_mxfp4_decode(const uint8_t *blocks, const uint8_t *scales, size_t n_blocks,
                        float *floats);

#endif
