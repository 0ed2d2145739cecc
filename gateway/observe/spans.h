/* OpenTelemetry spans, as lines of OTLP/JSON in a file: what a collector's receiver `otlpjsonfile`
 * reads. Each line is an ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1).
 *
 *     the client's span --traceparent--> POST /generate          the answer
 *                                          generation            one for each choice
 *                                            parse, queue, ...   its stages
 *
 * The trace is the client's, if it names one and records it (the flag "sampled"); a request without a
 * traceparent begins one. Workers send no spans: the gateway tells their stages, by the durations
 * that it has from them. Stages after the first token are sums, laid out one after the other.
 *
 * Ownership: the file is closed by close.
 * Threading: loop thread.
 * Errors:    open: IO. A line that cannot be written is counted as dropped.
 */
#ifndef BATON_GATEWAY_OBSERVE_SPANS_H
#define BATON_GATEWAY_OBSERVE_SPANS_H

#include "common/base/buf.h"
#include "gateway/request/stages.h"

struct gw_exchange;

struct gw_spans {
    int fd;           /* -1: spans are not wanted */
    const char *name; /* of this gateway */
    uint64_t n_written, n_dropped;
};

/* path "": no spans. Appends to a file that is there. */
enum baton_err gw_spans_open(struct gw_spans *spans, const char *path, const char *gateway,
                             struct baton_why *why) BATON_MUST_CHECK;
void gw_spans_close(struct gw_spans *spans);

/* An answer was sent. */
void gw_spans_tell_answer(struct gw_spans *spans, const struct gw_exchange *exchange);

/* A request is over, with these stages. */
void gw_spans_tell_request(struct gw_spans *spans, const struct gw_request *request,
                           const char *outcome, const char *reason,
                           const struct gw_stage_span stages[BATON_N_STAGES]);

/* As Prometheus text. */
void gw_spans_write_metrics(const struct gw_spans *spans, struct baton_buf *out);

#endif
