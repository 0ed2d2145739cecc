/* The dispatcher, the top of the gateway's core, drives requests from the queue to their end.
 *
 *     admission.h        accepts a request, or gives the reason against it
 *     routing.h          chooses its workers
 *     lifecycle.h        changes its state, retries it, ends it
 *     worker_messages.h  handles workers' messages about it
 *
 * Routing a request may end others, and an end may let others be routed. Routing therefore never
 * happens inside these functions: an event that makes routing possible sets a flag. The loop calls
 * the pump after each message and before it sleeps, and the pump routes until the flag stays down.
 *
 * Ownership: owns admission, routing and lifecycle; borrows the core and the fleet.
 * Threading: loop thread.
 * Errors:    init: NO_MEMORY. A request's failure goes to its response writer.
 */
#ifndef BATON_GATEWAY_DISPATCH_DISPATCHER_H
#define BATON_GATEWAY_DISPATCH_DISPATCHER_H

#include "gateway/admission/admission.h"
#include "gateway/fleet/fleet.h"
#include "gateway/lifecycle/lifecycle.h"
#include "gateway/routing/routing.h"

struct gw_dispatcher_options {
    struct gw_lifecycle_options lifecycle;
    struct gw_routing_options routing;
    struct gw_bounds bounds;
};

struct gw_dispatcher {
    const struct gw_core *core;
    struct gw_lifecycle lifecycle;
    struct gw_routing routing;
    struct gw_admission admission;
    struct gw_fleet *fleet;
};

/* Do not move a dispatcher: its parts point at each other. core and fleet outlive it. */
enum baton_err gw_dispatcher_init(struct gw_dispatcher *dispatcher,
                                  const struct gw_dispatcher_options *options,
                                  const struct gw_core *core,
                                  struct gw_fleet *fleet) BATON_MUST_CHECK;
void gw_dispatcher_fini(struct gw_dispatcher *dispatcher);

/* Routes queued requests as far as workers have capacity, if the flag is set. A response writer
 * must not call it. */
void gw_dispatcher_pump(struct gw_dispatcher *dispatcher);

/* For the fleet: a worker is lost, so its requests are retried on other workers or fail. */
void gw_dispatcher_worker_lost(struct gw_dispatcher *dispatcher, const struct gw_worker *worker);

/* The worker stays, but is stalled or unhealthy: its requests are canceled there and retried on
 * other workers. */
void gw_dispatcher_worker_unfit(struct gw_dispatcher *dispatcher, const struct gw_worker *worker);

/* Call before messages are received: detects that this process itself was suspended, so that the
 * time is charged to no worker. */
void gw_dispatcher_wake(struct gw_dispatcher *dispatcher, int64_t now_ns);

/* Enforces deadlines, sends the acknowledgements that are due, hedges, hands over. Call about every
 * 25 ms. */
void gw_dispatcher_tick(struct gw_dispatcher *dispatcher, int64_t now_ns);

#endif
