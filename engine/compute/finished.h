/* The rows of a forward that run to its end: those that want logits or hidden states, or are
 * pooled.
 *
 * Ownership: nothing.
 * Threading: the engine thread.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_COMPUTE_FINISHED_H
#define BATON_ENGINE_COMPUTE_FINISHED_H

#include "engine/compute/forward.h"
#include "engine/engine.h"

/* The number of a chunk's last rows that run to the end. */
int baton_n_finished(const struct baton_chunk *chunk);

/* Drops all rows of the chunks but those, which move to the front. */
void baton_keep_finished_rows(struct baton_forward *forward, const struct baton_chunk *chunks,
                              int n_chunks);

bool baton_any_pooled(const struct baton_chunk *chunks, int n_chunks);

/* Pools finished rows, and keeps those that want logits. */
void baton_pool_rows(struct baton_forward *forward, const struct baton_chunk *chunks, int n_chunks);

/* Copies the final hidden states [rows that want logits][C] to the chunks that want them. */
void baton_give_hidden(const struct baton_forward *forward, const struct baton_chunk *chunks,
                       int n_chunks, const float *hidden);

#endif
