/* The router of a mixture of experts: which experts a row takes, and how much each counts.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_COMPUTE_MOE_ROUTE_H
#define BATON_ENGINE_COMPUTE_MOE_ROUTE_H

#include "engine/arch/spec.h"

/* Of a router's logits [E], the bias added: the k = n_chosen greatest, greatest first and the lower
 * id first among equals, and the weights of their results, [k] each. The weights are the softmax
 * over all E, or, where the spec renormalises, over the chosen alone. Ids are in range and distinct
 * whatever the logits are. Source: Shazeer et al., "Outrageously Large Neural Networks", 2017. */
void baton_moe_route(const struct baton_moe_spec *moe, const float *logits, int *experts,
                     float *weights);

#endif
