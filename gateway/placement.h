/* Who works for a request: a decode worker that promised room, a prefill worker.
 *
 * Takes the ready worker of each role with the fewest requests of ours (then the most free blocks).
 * Decode blocks are reserved before the prompt is run.
 *
 * Ownership: a request borrows its workers until it leaves them, or they are lost.
 * Threading: loop thread.
 * Errors:    a request that no worker could ever take fails through its sink.
 */
#ifndef BATON_GATEWAY_PLACEMENT_H
#define BATON_GATEWAY_PLACEMENT_H

#include "gateway/router.h"

/* Places what waits, as far as workers have room. */
void gw_placement_pump(struct gw_router *router);

/* The reason why a request could not be placed even with all the room in the world, or NULL. */
const struct gw_failure *gw_placement_hopeless(const struct gw_router *router,
                                               const struct gw_request *request);

/* Its decode worker, if it wants one, has room: the prompt may run. */
void gw_placement_prefill(struct gw_router *router, struct gw_request *request);

/* One worker, &request->prefill or &request->decode, has nothing more to do for the request. */
void gw_placement_leave(struct gw_worker **place);

/* Whoever still works for the request stops, and its blocks come free. */
void gw_placement_release(struct gw_request *request, const char *reason);

#endif
