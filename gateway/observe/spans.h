/* OpenTelemetry spans as OTLP/JSON: lines of a file, which a collector's receiver `otlpjsonfile`
 * reads, POSTs to an endpoint, or both. Each line and each POST is an ExportTraceServiceRequest
 * (opentelemetry/proto/collector/trace/v1).
 *
 *     the client's span --traceparent--> POST /generate          the answer
 *                                          generation            one for each choice
 *                                            parse, queue, ...   its stages
 *
 * The trace is the client's, if it names one and records it (the flag "sampled"); a request without
 * a traceparent begins one. Workers send no spans: the gateway exports their stages from the
 * durations that they report. Stages after the first token are sums, laid out one after the other.
 *
 * Ownership: file and exporter are closed by close.
 * Threading: loop thread.
 * Errors:    open: IO, and those of the endpoint. What cannot be written or sent is counted.
 */
#ifndef BATON_GATEWAY_OBSERVE_SPANS_H
#define BATON_GATEWAY_OBSERVE_SPANS_H

#include "common/base/buf.h"
#include "gateway/observe/span_exporter.h"
#include "gateway/request/stages.h"

struct gw_exchange;

struct gw_spans_options {
    const char *file;                             /* "": none; an existing file is appended to */
    const char *endpoint, *headers_file, *cafile; /* as otlp_endpoint.h says; "": none */
    const char *gateway;                          /* the gateway's name */
};

struct gw_spans {
    int fd;                            /* -1: no file */
    struct gw_span_exporter *exporter; /* NULL: no endpoint */
    struct baton_buf head;             /* an ExportTraceServiceRequest up to its spans */
    uint64_t n_written, n_dropped;
};

/* A zeroed struct with fd -1 exports no spans, and may be closed too. */
enum baton_err gw_spans_open(struct gw_spans *spans, const struct gw_spans_options *options,
                             struct baton_why *why) BATON_MUST_CHECK;
void gw_spans_close(struct gw_spans *spans);

/* Whether a file or an endpoint takes spans. */
bool gw_spans_are_wanted(const struct gw_spans *spans);

/* Exports the span of an answer that was sent. */
void gw_spans_export_answer(struct gw_spans *spans, const struct gw_exchange *exchange);

/* Exports the spans of a request that is over, and of its stages. */
void gw_spans_export_request(struct gw_spans *spans, const struct gw_request *request,
                             const char *outcome, const char *reason,
                             const struct gw_stages *stages);

/* Writes Prometheus text. */
void gw_spans_write_metrics(const struct gw_spans *spans, struct baton_buf *out);

#endif
