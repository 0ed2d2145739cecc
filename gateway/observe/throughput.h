/* The throughput estimator: how fast the fleet works off its queue, and how long the next request
 * would therefore take.
 *
 *     QUEUED, RESERVING --routed--> PREFILLING --computed--> DECODING --output--> end
 *
 * It measures three rates: requests routed, while there is a backlog, that is, while some request
 * has waited longer than routing takes; prompt tokens computed, while a worker has a prompt; tokens
 * generated, while a client takes some. Each clock runs only under load, so a quiet hour does not
 * look like a slow fleet. It also runs only while a worker that could do the work is heard, so a
 * worker that is gone or silent does not look slow either. Without a backlog there is no routing
 * rate, because a fleet with spare capacity routes at the rate of arrivals.
 *
 *     wait    = requests waiting x seconds a routing + tokens with workers x seconds a token
 *     service = prompt tokens x seconds a token + output tokens x sharers x seconds a token
 *
 * Pure. Times are baton_now_ns's. A rate that was never measured counts as 0 seconds, so that no
 * request is rejected on a guess.
 */
#ifndef BATON_GATEWAY_OBSERVE_THROUGHPUT_H
#define BATON_GATEWAY_OBSERVE_THROUGHPUT_H

#include "gateway/observe/busy_rate.h"
#include "gateway/request/request.h"

struct gw_throughput {
    struct gw_busy_rate routing, compute, output; /* routing runs during a backlog */
    size_t n_waiting, n_waiting_tokens;           /* requests to be routed; their prompt tokens */
    size_t n_prefilling_tokens;                   /* of prompts that workers have */
    /* The mean length of complete outputs, and their best time per token; 0: none was complete. */
    double usual_tokens, best_per_token_s;
};

/* A request with a prompt of n_tokens changes its state. */
void gw_throughput_moved(struct gw_throughput *throughput, enum gw_state from, enum gw_state to,
                         size_t n_tokens, int64_t now_ns);

/* A request in DECODING is paused or resumed. Resume a paused one before it leaves DECODING. */
void gw_throughput_paused(struct gw_throughput *throughput, bool paused, int64_t now_ns);

/* n tokens were generated. */
void gw_throughput_made(struct gw_throughput *throughput, size_t n, int64_t now_ns);

/* A request ended well after n_output tokens; seconds are from the first to the end. */
void gw_throughput_finished(struct gw_throughput *throughput, uint64_t n_output, double seconds);

/* The kinds of work that stand still, because no worker that has or may get such work is heard. */
struct gw_standstill {
    bool routing, compute, output;
};

/* Advances the clocks, except those that stand still. waited_s is the wait of the first request in
 * the queue, 0 if the queue is empty. Call about every 25 ms, because this call detects a backlog.
 */
void gw_throughput_tick(struct gw_throughput *throughput, double waited_s,
                        const struct gw_standstill *still, int64_t now_ns);

/* This process was suspended, so it did not see the work that was done meanwhile. */
void gw_throughput_slept(struct gw_throughput *throughput, int64_t now_ns);

/* Seconds until the waiting requests and n_requests more are routed, and the tokens with workers
 * and n_tokens more are computed. With 0 and 0: the wait of a request that arrives now. */
double gw_throughput_wait_s(const struct gw_throughput *throughput, size_t n_requests,
                            size_t n_tokens);

/* Seconds until n_requests of the waiting requests are routed; 0 without a backlog. */
double gw_throughput_routing_s(const struct gw_throughput *throughput, size_t n_requests);

/* Seconds to serve n_more requests beside all requests that workers have now: n_tokens of prompts,
 * including theirs, and then their output. */
double gw_throughput_service_s(const struct gw_throughput *throughput, size_t n_more,
                               size_t n_tokens, int64_t max_new_tokens);
/* The same for a request that has the fleet to itself. */
double gw_throughput_alone_s(const struct gw_throughput *throughput, size_t n_tokens,
                             int64_t max_new_tokens);

/* Seconds for Retry-After: whole, at least 1, and at most 60, because estimates reach no
 * further. */
int gw_throughput_retry_s(double seconds);

#endif
