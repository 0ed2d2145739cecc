/* The input that each layer has of a token beside the residual stream (Gemma 3n's and 4's per-layer
 * embeddings): a row of a table, which the token chooses, and a projection of its embedding.
 *
 * Ownership: the forward state is borrowed.
 * Threading: the engine thread, which shares the work with its pool.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_COMPUTE_PER_LAYER_H
#define BATON_ENGINE_COMPUTE_PER_LAYER_H

#include "engine/compute/forward.h"

/* x, as embedded -> per_layer [n_rows][L][P], for all layers. Does nothing in a model without. */
void baton_per_layer_embed(struct baton_forward *forward);

/* x += norm(out(act(gate x) * per_layer[layer])) */
void baton_per_layer_add(struct baton_forward *forward, int layer);

#endif
