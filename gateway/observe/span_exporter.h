/* Sends spans to an endpoint from a thread of its own, so that no request waits for the endpoint.
 *
 *     put --> [queue] --> batch --POST--> 2xx: sent       4xx, 5xx: refused
 *                full: dropped    ^   |
 *                                 +---+ no answer, 429, 502, 503, 504: again, with growing pauses
 *
 * The queue holds GW_SPANS_QUEUED_BYTES. A batch holds the spans of one second, at most
 * GW_SPANS_BATCH_BYTES; it is dropped after GW_SPANS_PATIENCE_S.
 *
 * Ownership: start to stop. start takes the endpoint over, and copies head and tail.
 * Threading: start, put, stop and the metrics: loop thread. put never waits for the endpoint.
 * Errors:    start: NO_MEMORY, IO. What cannot be sent is counted and logged.
 */
#ifndef BATON_GATEWAY_OBSERVE_SPAN_EXPORTER_H
#define BATON_GATEWAY_OBSERVE_SPAN_EXPORTER_H

#include <stdint.h>

#include "gateway/observe/otlp_endpoint.h"

enum {
    GW_SPANS_QUEUED_BYTES = 16 << 20,
    GW_SPANS_BATCH_BYTES = 512 << 10,
    GW_SPANS_PATIENCE_S = 300,
    GW_SPANS_FLUSH_MS = 1000 /* that stop waits for the last batch */
};

/* The outcomes of spans. */
#define GW_SPAN_OUTCOMES(X)                                                                        \
    X(sent)        /* the endpoint accepted them */                                                \
    X(rejected)    /* the endpoint accepted their batch without them (partialSuccess) */           \
    X(refused)     /* the endpoint's status forbids sending them again */                          \
    X(queue_full)  /* they came faster than they could be sent */                                  \
    X(unreachable) /* no answer for too long */                                                    \
    X(stopped)     /* the gateway ended first */

enum gw_span_outcome {
#define X(name) GW_SPANS_##name,
    GW_SPAN_OUTCOMES(X)
#undef X
        GW_N_SPAN_OUTCOMES
};

struct gw_span_exporter;

/* head, tail: of an ExportTraceServiceRequest, around its spans. On an error the endpoint stays the
 * caller's. */
enum baton_err gw_span_exporter_start(const struct gw_otlp_endpoint *endpoint, const char *head,
                                      const char *tail, struct gw_span_exporter **exporter,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* Tries to send the queued spans for up to GW_SPANS_FLUSH_MS. NULL is fine. */
void gw_span_exporter_stop(struct gw_span_exporter *exporter);

/* text: n_spans Spans as JSON, with commas between; copied. More bytes than an item may have are
 * dropped, and counted as such. */
void gw_span_exporter_put(struct gw_span_exporter *exporter, const char *text, size_t n,
                          size_t n_spans);

/* 0 for NULL. */
uint64_t gw_span_exporter_count(const struct gw_span_exporter *exporter,
                                enum gw_span_outcome outcome);
uint64_t gw_span_exporter_n_posts(const struct gw_span_exporter *exporter);
size_t gw_span_exporter_queued_bytes(const struct gw_span_exporter *exporter);

/* The pause in nanoseconds after n_failures in a row (1 for the first). retry_after_s < 0: the
 * endpoint sent none. random: any number, so that gateways do not come back all at once. */
int64_t gw_span_backoff_ns(int n_failures, double retry_after_s, uint64_t random);

#endif
