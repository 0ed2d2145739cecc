/* How many weights of a model a forward multiplies with: what a step reads from memory, and what a
 * row costs in arithmetic.
 *
 * A mixture of experts reads the experts that its rows chose. B rows that choose k of E experts
 * each, independently and evenly, choose E (1 - (1 - k / E)^B) different ones: k for one row, and
 * nearly all for many, so that batching saves less than it does for a dense model.
 *
 * Counts are of matrices only, and exact but for that expectation. Times 2 with n_rows = 1 they are
 * a row's floating-point operations.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_ARCH_SPEC_WEIGHTS_H
#define BATON_ENGINE_ARCH_SPEC_WEIGHTS_H

#include "engine/arch/spec.h"

/* How many different experts n_rows rows choose together, expected. */
double baton_spec_distinct_experts(const struct baton_moe_spec *moe, double n_rows);

/* Queries, keys, values and attention's output. */
double baton_spec_attention_weights(const struct baton_spec *spec, int layer);

/* The feed-forward part: dense, or the router, the shared expert and the experts chosen. */
double baton_spec_ff_weights(const struct baton_spec *spec, int layer, double n_rows);

double baton_spec_head_weights(const struct baton_spec *spec);

/* All of them: what a step of n_rows rows reads. */
double baton_spec_step_weights(const struct baton_spec *spec, double n_rows);

/* Rows of a prompt to compute at once: enough that reading the weights takes little of the time. An
 * expert of a mixture gets k of E rows, so it takes E / k times as many, as far as that goes. */
enum { BATON_DENSE_CHUNK = 128, BATON_MOST_CHUNK = 1024 };
int baton_spec_chunk(const struct baton_spec *spec);

#endif
