/* The decoder: a layer's computation around its attention, for every architecture, encoders among
 * them. The spec says which parts it has; the engine runs them, because it owns the KV cache:
 *
 *     embed; for each layer qkv, attend, attn_out_and_mlp; logits
 *
 * Ownership: the forward state is borrowed.
 * Threading: the engine thread, which shares the work with its pool.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_COMPUTE_DECODER_H
#define BATON_ENGINE_COMPUTE_DECODER_H

#include "engine/compute/forward.h"

/* Rows' tokens and positions -> x, and the rotations of queries and keys. */
void baton_decoder_embed(struct baton_forward *forward);

/* x -> qkv, and K and V in their sequences' blocks */
void baton_decoder_qkv(struct baton_forward *forward, int layer);

/* attn_out, x -> x */
void baton_decoder_attn_out_and_mlp(struct baton_forward *forward, int layer);

/* The final hidden states [n_rows][C], the input of the head: normed, or x itself. */
const float *baton_decoder_hidden(struct baton_forward *forward);

/* The final hidden states -> logits [n_rows][V] */
void baton_decoder_logits(struct baton_forward *forward, const float *hidden, float *logits);

#endif
