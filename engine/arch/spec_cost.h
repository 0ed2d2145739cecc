/* The cost of a forward of a spec: the weights that it multiplies with, which a step reads from
 * memory, and the positions that attention reads from the KV cache.
 *
 * A mixture of experts reads the experts that its rows chose. B rows that choose k of E experts
 * each, independently and evenly, choose E (1 - (1 - k / E)^B) different ones: k for one row, and
 * nearly all for many, so that batching saves less than it does for a dense model.
 *
 * Counts of weights are of matrices only, and exact except for that expectation. Times 2 with
 * n_rows = 1 they are a row's floating-point operations.
 *
 * A row at position p of a layer sees p + 1 positions, or the window's if these are fewer.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_ARCH_SPEC_COST_H
#define BATON_ENGINE_ARCH_SPEC_COST_H

#include "engine/arch/spec.h"

/* The expected number of different experts that n_rows rows choose together. */
double baton_spec_distinct_experts(const struct baton_moe_spec *moe, double n_rows);

/* The last layer that computes K and V: a row that wants no result ends before its attention. */
int baton_spec_last_kv_layer(const struct baton_spec *spec);

/* Queries, keys, values and attention's output. */
double baton_spec_attention_weights(const struct baton_spec *spec, int layer);

/* The projection of a token's embedding to the inputs of all layers; 0: there are none. */
double baton_spec_input_weights(const struct baton_spec *spec);

/* The feed-forward part: dense, or the router, the shared expert and the experts chosen; and what
 * the layer does with its own input of a token. */
double baton_spec_ff_weights(const struct baton_spec *spec, int layer, double n_rows);

double baton_spec_head_weights(const struct baton_spec *spec);

/* Rows of a prompt to compute at once: so many that reading the weights takes little of the time.
 * An expert of a mixture gets k of E rows, so a mixture needs E / k times as many, up to
 * MOST_CHUNK. */
enum { BATON_DENSE_CHUNK = 128, BATON_ENCODER_CHUNK = 512, BATON_MOST_CHUNK = 1024 };
int baton_spec_chunk(const struct baton_spec *spec);

/* The positions that a row sees of n_positions up to and including its own; window 0: all. */
double baton_spec_seen(int window, double n_positions);

/* The sum of that over n_rows rows that follow n_past positions. */
double baton_spec_seen_by_rows(int window, double n_past, double n_rows);

/* K and V elements of one position in all layers that hold them: 2 G D each, or G D where V is a
 * part of K. */
double baton_spec_kv_elements(const struct baton_spec *spec);

/* The window that has most of attention's work, and its part of that work: the query heads of
 * layers with this window over those of all layers. 0 and 0 without windows. */
int baton_spec_window(const struct baton_spec *spec);
double baton_spec_windowed_share(const struct baton_spec *spec);

#endif
