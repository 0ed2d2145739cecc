/* A prompt that several prefill workers compute together (docs/design/prefill-split.md).
 *
 * The prompt goes to the worker that routing chose, the first part, and to idle workers of its
 * numeric class. Each reserves blocks and answers how many of them it has cached. When all have
 * answered, PartsStart assigns the stripes of blocks to them. If a worker has no blocks, or too
 * little is left to compute, the first part computes the prompt alone. An attempt after a failed
 * one is not divided.
 *
 * Ownership: workers are the fleet's, borrowed by the attempt.
 * Threading: loop thread.
 * Errors:    none; a prompt that cannot be divided is computed by one worker.
 */
#ifndef BATON_GATEWAY_ROUTING_SPLIT_H
#define BATON_GATEWAY_ROUTING_SPLIT_H

#include "gateway/routing/routing.h"

/* Adds idle workers, if there are any, to an attempt whose prompt is about to be sent. */
void gw_split_choose(struct gw_routing *routing, struct gw_request *request);

/* Handles a part's Reserved. False: it contradicts the prompt. */
bool gw_split_reserved(struct gw_routing *routing, struct gw_request *request,
                       const struct gw_worker *worker,
                       const Baton__V1__Reserved *reserved) BATON_MUST_CHECK;

/* Handles a part's Rejected: the first part computes the prompt alone, and waits for blocks if it
 * has none. */
void gw_split_give_up(struct gw_routing *routing, struct gw_request *request,
                      const struct gw_worker *worker);

#endif
