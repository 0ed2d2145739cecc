/* The traceparent of W3C Trace Context: the trace of a request, and its parent span.
 *
 *     traceparent = 00-<32 hex digits: trace>-<16 hex digits: parent span>-<2 hex digits: flags>
 *
 * Ownership: plain data.
 * Threading: pure, but for fresh ids.
 * Errors:    none; an invalid header counts as absent.
 */
#ifndef BATON_GATEWAY_HTTP_TRACE_CONTEXT_H
#define BATON_GATEWAY_HTTP_TRACE_CONTEXT_H

#include <stdbool.h>

enum { GW_SPAN_ID_BYTES = 17, GW_TRACEPARENT_BYTES = sizeof "00-" + 32 + 1 + 16 + 3 };

struct gw_trace {
    char id[33];                      /* "": not part of a trace */
    char parent_id[GW_SPAN_ID_BYTES]; /* the client's span; "": ours is the trace's first */
    char span_id[GW_SPAN_ID_BYTES];   /* ours */
    bool is_sampled;                  /* the client records it, and requests that we do */
};

/* Reads a header's value, "" for none; the span id is new. */
void gw_trace_read(struct gw_trace *trace, const char *traceparent);

/* Begins a trace here. */
void gw_trace_begin(struct gw_trace *trace);

/* Writes sixteen random digits. */
void gw_span_id(char id[GW_SPAN_ID_BYTES]);

/* Writes the header's value with our span as the parent; returns text. */
const char *gw_trace_put(const struct gw_trace *trace, char text[GW_TRACEPARENT_BYTES]);

#endif
