/* Whether the fleet could serve a request that waits, and why not.
 *
 * Ownership: failures are constants.
 * Threading: loop thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_ROUTING_SERVABLE_H
#define BATON_GATEWAY_ROUTING_SERVABLE_H

#include "gateway/routing/routing.h"

/* Whether the request waits for a role whose workers have only just left, or are only joining. */
bool gw_servable_awaits_worker(const struct gw_routing *routing, const struct gw_request *request);

/* Whether a worker of each role that the request needs is heard, so that it could be routed once
 * there is capacity. */
bool gw_servable_may_move(const struct gw_routing *routing, const struct gw_request *request,
                          int64_t now_ns);

/* The reason why a request could not be routed even by an idle fleet, or NULL. A role that is
 * awaited is no reason. */
const struct gw_failure *gw_servable_failure(const struct gw_routing *routing,
                                             const struct gw_request *request);

#endif
