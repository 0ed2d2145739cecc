/* The router of a mixture of experts: the experts of a row and their weights.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_COMPUTE_MOE_ROUTE_H
#define BATON_ENGINE_COMPUTE_MOE_ROUTE_H

#include "engine/arch/spec.h"

/* Chooses the k = n_chosen greatest of a router's logits [E], which include the bias: greatest
 * first and the lower id first among equals. Returns their ids and the weights of their results,
 * [k] each. The weights are the softmax over all E, or, where the spec renormalises, over the
 * chosen alone. Ids are in range and distinct whatever the logits are. Source: Shazeer et al.,
 * "Outrageously Large Neural Networks", 2017.
 *
 * Specs with sigmoids, score biases (bias [E], else NULL), groups or a scale choose by scores: the
 * sigmoids, or the softmax over all E, plus the bias. Of groups of neighbouring experts the best
 * are kept, and the scores of the others are 0 in the choice. The weights are the scores without
 * the bias, divided by their sum where the spec renormalises, times the scale (DeepSeek-AI,
 * "DeepSeek-V3", 2024, 2.1.2). */
void baton_moe_route(const struct baton_moe_spec *moe, const float *logits, const float *bias,
                     int *experts, float *weights);

#endif
