/* The flow of a request through the fleet: placement, reservation, prefill, decode, retry, cancel.
 *
 * Placement takes the ready worker of each role with the fewest requests of ours (then the most
 * free blocks). Decode blocks are reserved before the prompt is run. When a worker fails before
 * anything was shown to the client the request goes back to QUEUED for another attempt; later it
 * fails.
 *
 * Ownership: requests belong to their table; the router destroys each after its sink's last call.
 * Threading: loop thread.
 * Errors:    submit says at once what can be known at once (503, 429), in *failure.
 */
#ifndef BATON_GATEWAY_ROUTER_H
#define BATON_GATEWAY_ROUTER_H

#include "gateway/fleet.h"
#include "gateway/metrics.h"
#include "gateway/output.h"

struct gw_router_options {
    struct gw_requests *requests;
    struct gw_fleet *fleet;
    struct gw_metrics *metrics;
    struct gw_output output;
    int64_t max_queued, max_queued_tokens; /* waiting for a worker */
    int64_t max_attempts;
};

struct gw_router {
    struct gw_router_options options;
    size_t n_waiting_tokens; /* of prompts in QUEUED and RESERVING */
    bool draining;
};

void gw_router_init(struct gw_router *router, const struct gw_router_options *options);

/* Queues a tokenized request (state TOKENIZING, its ask filled in). False: refused for the reason
 * in *failure; the request is in state FAILED, and still the caller's to destroy. */
bool gw_router_submit(struct gw_router *router, struct gw_request *request,
                      struct gw_failure *failure);

/* Places what waits, as far as workers have room. */
void gw_router_pump(struct gw_router *router);

/* The client left: ends the request everywhere and destroys it, without a call to its sink. */
void gw_router_cancel(struct gw_router *router, struct gw_request *request, const char *reason);

/* The client takes bytes again, or does not. */
void gw_router_pause(struct gw_router *router, struct gw_request *request, bool paused);

/* What the fleet calls. */
void gw_router_message(struct gw_router *router, struct gw_worker *worker,
                       const baton_envelope *envelope);
void gw_router_worker_lost(struct gw_router *router, struct gw_worker *worker);

/* Deadlines, and acks that are due. Call every 50 ms. */
void gw_router_tick(struct gw_router *router, int64_t now_ns);

size_t gw_router_n_open(const struct gw_router *router);

#endif
