/* The lifecycle of a request: changes of state and their measurement, retries, migrations, the end.
 *
 * When an attempt breaks before its first token, the request goes back to QUEUED for another
 * attempt. When it breaks later, the next attempt continues after the output so far: the request
 * migrates, and its client sees one stream. A request whose client reads nothing is preempted when
 * others wait for its KV blocks: it migrates, too, once the client reads again.
 *
 * Nothing here chooses a worker. A request that enters the queue, and capacity that becomes free,
 * set the flag wants_pump; the dispatcher (gateway/dispatch/dispatcher.h) pumps when no function of
 * this file is running.
 *
 * Ownership: requests belong to their table; each is destroyed after its response writer's last
 *            call.
 * Threading: loop thread.
 * Errors:    a failure goes to the request's response writer. The writer may then cancel other
 *            requests, so a caller that walks a list starts it again.
 */
#ifndef BATON_GATEWAY_LIFECYCLE_LIFECYCLE_H
#define BATON_GATEWAY_LIFECYCLE_LIFECYCLE_H

#include "gateway/lifecycle/core.h"
#include "gateway/observe/arrivals.h"
#include "gateway/observe/throughput.h"

struct gw_lifecycle_options {
    int64_t max_attempts;
    /* Migrations per request; those away from draining workers do not count. 0: a request whose
     * attempt breaks after its client saw a token fails, and nothing is handed over. */
    int64_t migration_limit;
};

struct gw_lifecycle {
    const struct gw_core *core;
    struct gw_lifecycle_options options;
    struct gw_throughput throughput;
    struct gw_arrivals arrivals;
    bool wants_pump; /* since the last pump, a request or capacity has become available */
};

/* Borrows the core: it outlives it. */
void gw_lifecycle_init(struct gw_lifecycle *lifecycle, const struct gw_lifecycle_options *options,
                       const struct gw_core *core);

/* The requests in a state, and how many are between QUEUED and their end. */
struct gw_request_list *gw_lifecycle_list(const struct gw_lifecycle *lifecycle,
                                          enum gw_state state);
size_t gw_lifecycle_n_open(const struct gw_lifecycle *lifecycle);

/* As gw_request_set_state, and updates throughput and arrivals. */
void gw_lifecycle_set_state(struct gw_lifecycle *lifecycle, struct gw_request *request,
                            enum gw_state state, const char *reason);

/* Observes the time to the first token, once per request. A streamed request counts as soon as its
 * first token is shown. Any other request counts when it ends, because a retry may still replace
 * its first token. */
void gw_lifecycle_count_ttft(struct gw_lifecycle *lifecycle, struct gw_request *request);

/* End the request: release its workers, call its response writer, destroy it. */
void gw_lifecycle_finish(struct gw_lifecycle *lifecycle, struct gw_request *request);
void gw_lifecycle_fail(struct gw_lifecycle *lifecycle, struct gw_request *request,
                       const struct gw_failure *failure);

/* The client left: ends the request everywhere and destroys it, without a call to its response
 * writer. */
void gw_lifecycle_cancel(struct gw_lifecycle *lifecycle, struct gw_request *request,
                         const char *reason);

/* Handles a broken attempt: begins another one, from the prompt or after the output so far, or
 * fails the request at its limits. */
void gw_lifecycle_retry_or_fail(struct gw_lifecycle *lifecycle, struct gw_request *request,
                                const struct gw_failure *failure);

/* Whether the request is paused, and could continue later without its blocks or its place in the
 * queue. */
bool gw_lifecycle_may_preempt(const struct gw_lifecycle *lifecycle,
                              const struct gw_request *request);

/* Frees the capacity of such a request, which returns to the queue when its client reads again: a
 * migration that waits for the client. If the client has too many of them, the one that was
 * preempted first fails. */
void gw_lifecycle_preempt(struct gw_lifecycle *lifecycle, struct gw_request *request);

/* Retries the requests of a worker that is gone on other workers, or fails them. */
void gw_lifecycle_worker_lost(struct gw_lifecycle *lifecycle, const struct gw_worker *worker);

/* The same for a worker that is connected but stalled or unhealthy; also cancels its requests
 * there. */
void gw_lifecycle_worker_unfit(struct gw_lifecycle *lifecycle, const struct gw_worker *worker);

/* Called when the client stops taking bytes (paused), and when it takes them again. */
void gw_lifecycle_pause(struct gw_lifecycle *lifecycle, struct gw_request *request, bool paused);

/* Acknowledges the tokens so far to the worker, with the credit for more. */
void gw_lifecycle_ack(struct gw_request *request, int64_t now_ns);

#endif
