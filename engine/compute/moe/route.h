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
 * "Outrageously Large Neural Networks", 2017. */
void baton_moe_route(const struct baton_moe_spec *moe, const float *logits, int *experts,
                     float *weights);

#endif
