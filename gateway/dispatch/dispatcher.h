/* The life of requests in the gateway: their states, ends, retries, losses and time.
 *
 *     admission.h  takes a request in, or says why not
 *     routing.h    who works for it
 *     worker_messages.h  what workers say about it
 *
 * When a worker fails before anything was shown to the client the request goes back to QUEUED for
 * another attempt; later it fails.
 *
 * Ownership: requests belong to their table; the dispatcher destroys each after its response
 *            writer's last call.
 * Threading: loop thread.
 * Errors:    a request that fails is told so through its response writer.
 */
#ifndef BATON_GATEWAY_DISPATCH_DISPATCHER_H
#define BATON_GATEWAY_DISPATCH_DISPATCHER_H

#include "gateway/observe/arrivals.h"
#include "gateway/observe/metrics.h"
#include "gateway/observe/throughput.h"
#include "gateway/request/request.h"
#include "gateway/routing/routing.h"

/* What may wait for a worker. */
struct gw_bounds {
    int64_t max_queued, max_queued_tokens; /* requests, and tokens of their prompts */
    double max_wait_s;                     /* as predicted; 0: any time */
};

struct gw_dispatcher_options {
    struct gw_requests *requests;
    struct gw_fleet *fleet;
    struct gw_metrics *metrics;
    struct gw_detokenizer detokenizer;
    struct gw_bounds bounds;
    int64_t max_attempts;
};

struct gw_dispatcher {
    struct gw_dispatcher_options options;
    struct gw_routing routing;
    struct gw_throughput throughput;
    struct gw_arrivals arrivals;
    bool draining;
};

/* Leaves the placement empty: the caller initialises it. */
void gw_dispatcher_init(struct gw_dispatcher *dispatcher,
                        const struct gw_dispatcher_options *options);

/* The client left: ends the request everywhere and destroys it, without a call to its response writer. */
void gw_dispatcher_cancel(struct gw_dispatcher *dispatcher, struct gw_request *request,
                          const char *reason);

/* The client takes bytes again, or does not. */
void gw_dispatcher_pause(struct gw_dispatcher *dispatcher, struct gw_request *request, bool paused);

/* What the fleet calls: the worker's requests are tried elsewhere, or fail. */
void gw_dispatcher_worker_lost(struct gw_dispatcher *dispatcher, struct gw_worker *worker);

/* Deadlines, and acks that are due. Call every 25 ms or so. */
void gw_dispatcher_tick(struct gw_dispatcher *dispatcher, int64_t now_ns);

size_t gw_dispatcher_n_open(const struct gw_dispatcher *dispatcher);

/* ---- between the router's files ---- */

struct gw_request_list *gw_dispatcher_list(const struct gw_dispatcher *dispatcher,
                                           enum gw_state state);

void gw_dispatcher_set_state(struct gw_dispatcher *dispatcher, struct gw_request *request,
                             enum gw_state state, const char *reason);

/* The books are closed on a request, whatever its end; its response writer hears nothing of it. */
void gw_dispatcher_settle(struct gw_dispatcher *dispatcher, struct gw_request *request,
                          enum gw_outcome outcome, const char *reason);

/* Observes the time to the first token, once per request. A whole answer may still lose its first
 * token with its attempt: it is counted when it is settled. A streamed one was shown. */
void gw_dispatcher_count_ttft(struct gw_dispatcher *dispatcher, struct gw_request *request);

/* Its end, told to its response writer; the request is destroyed. */
void gw_dispatcher_finish(struct gw_dispatcher *dispatcher, struct gw_request *request);
void gw_dispatcher_fail(struct gw_dispatcher *dispatcher, struct gw_request *request,
                        const struct gw_failure *failure);

/* The attempt broke. Another one, if the client has seen nothing of this one; else the end. */
void gw_dispatcher_retry_or_fail(struct gw_dispatcher *dispatcher, struct gw_request *request,
                                 const struct gw_failure *failure);

/* Tells the worker that the tokens so far arrived. */
void gw_dispatcher_ack(struct gw_request *request, int64_t now_ns);

#endif
