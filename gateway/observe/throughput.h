/* The throughput estimator: how fast the fleet works off what waits, and what that means for the
 * next request.
 *
 *     QUEUED, RESERVING --routed--> PREFILLING --computed--> DECODING --output--> end
 *
 * Three rates are measured. Requests routed: while there is a backlog, that is while some request
 * waited longer than routing takes. Prompt tokens computed: while a prompt is with a worker. Tokens
 * made: while a client takes some. Each clock runs only under load, so a quiet hour does not look
 * like a slow fleet; and without a backlog no routing rate is claimed, because a fleet with spare
 * capacity routes at the rate of arrivals.
 *
 *     wait    = requests waiting x seconds a routing + tokens with workers x seconds a token
 *     service = prompt tokens x seconds a token + output tokens x sharers x seconds a token
 *
 * Pure. Times are baton_now_ns's. What was never measured is 0: no request is rejected by a guess.
 */
#ifndef BATON_GATEWAY_OBSERVE_THROUGHPUT_H
#define BATON_GATEWAY_OBSERVE_THROUGHPUT_H

#include "gateway/observe/busy_rate.h"
#include "gateway/request/request.h"

struct gw_throughput {
    struct gw_busy_rate routing, compute, output; /* routing runs during a backlog */
    size_t n_waiting, n_waiting_tokens;           /* to be routed; of their prompts */
    size_t n_prefilling_tokens;                   /* of prompts that are with workers */
    /* Of requests that ended well, 0 before any did: tokens, and time for one at its best. */
    double usual_tokens, best_per_token_s;
};

/* A request with a prompt of n_tokens goes from its state to another. */
void gw_throughput_moved(struct gw_throughput *throughput, enum gw_state from, enum gw_state to,
                         size_t n_tokens, int64_t now_ns);

/* A request in DECODING takes no tokens for a while, or does again; it does when it leaves. */
void gw_throughput_paused(struct gw_throughput *throughput, bool paused, int64_t now_ns);

/* n tokens were made. */
void gw_throughput_made(struct gw_throughput *throughput, size_t n, int64_t now_ns);

/* A request ended well after n_output tokens; seconds are from the first to the end. */
void gw_throughput_finished(struct gw_throughput *throughput, uint64_t n_output, double seconds);

/* Time passes, whether or not anything moves; waited_s is how long the first in the queue has been
 * there, 0 when it is empty. Call every 25 ms or so: a backlog is noticed here. */
void gw_throughput_tick(struct gw_throughput *throughput, double waited_s, int64_t now_ns);

/* Until so many more requests than those that wait would be routed, and so many more tokens than
 * those with workers would be run; 0, 0: until all there are had their turn. */
double gw_throughput_wait_s(const struct gw_throughput *throughput, size_t n_requests,
                            size_t n_tokens);

/* Until so many of the waiting requests are routed; 0 without a backlog. */
double gw_throughput_routing_s(const struct gw_throughput *throughput, size_t n_requests);

/* For n_more requests like the others, beside everybody who is with a worker now: n_tokens of
 * prompts, theirs among them, and then their output. */
double gw_throughput_service_s(const struct gw_throughput *throughput, size_t n_more,
                               size_t n_tokens, int64_t max_new_tokens);
/* The same for one that has the fleet for itself. */
double gw_throughput_alone_s(const struct gw_throughput *throughput, size_t n_tokens,
                             int64_t max_new_tokens);

/* Seconds as Retry-After says them: whole, at least 1, and no more than can be foreseen. */
int gw_throughput_retry_s(double seconds);

#endif
