/* A prompt that several prefill workers compute together (docs/design/prefill-split.md).
 *
 * The prompt goes to the worker that routing chose, the first part, and to others of its numeric
 * class that have nothing to do. Each takes blocks and answers how many of them it has cached. When
 * all have answered they are told who computes which stripe of blocks. A worker that has no blocks,
 * or too little left to compute, and the first part computes the prompt alone. An attempt after one
 * that broke is not divided.
 *
 * Ownership: workers are the fleet's, borrowed by the attempt.
 * Threading: loop thread.
 * Errors:    none; a prompt that cannot be divided is computed by one worker.
 */
#ifndef BATON_GATEWAY_ROUTING_SPLIT_H
#define BATON_GATEWAY_ROUTING_SPLIT_H

#include "gateway/routing/routing.h"

/* Gives the attempt, whose prompt is about to be sent, workers that compute it with the one at
 * prompt_at, if there are any. */
void gw_split_choose(struct gw_routing *routing, struct gw_request *request);

/* The worker of a part has its blocks. False: it contradicts the prompt. */
bool gw_split_reserved(struct gw_routing *routing, struct gw_request *request,
                       const struct gw_worker *worker,
                       const Baton__V1__Reserved *reserved) BATON_MUST_CHECK;

/* The worker of a part has no blocks: the first part computes the prompt alone, and waits for
 * blocks if it has none. */
void gw_split_give_up(struct gw_routing *routing, struct gw_request *request,
                      const struct gw_worker *worker);

#endif
