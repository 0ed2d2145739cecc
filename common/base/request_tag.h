/* The external names of a request: its client's id, and the trace that it belongs to.
 *
 *     baton_log(BATON_LOG_INFO, "retry", BATON_REQUEST(request->id, request->tag), ...);
 *
 * Each line about a request begins with these fields, in every process, so that one search over all
 * logs follows it: req is the id on the wire, id the client's X-Request-Id if there is one, trace
 * the trace id of its traceparent.
 *
 * Ownership: plain data.
 * Threading: pure functions.
 * Errors:    none; an invalid id is omitted.
 */
#ifndef BATON_COMMON_BASE_REQUEST_TAG_H
#define BATON_COMMON_BASE_REQUEST_TAG_H

#include <stdbool.h>

#include "common/base/log.h"

enum { BATON_CLIENT_ID_BYTES = 128, BATON_TRACE_ID_BYTES = 32 };

/* "" if there is none. */
struct baton_request_tag {
    char id[BATON_CLIENT_ID_BYTES + 1], trace_id[BATON_TRACE_ID_BYTES + 1];
};

/* True for 1 to 128 visible ASCII characters, none of them a quote or a backslash: such an id is
 * the same text in a log, in JSON and in a header. */
bool baton_is_client_id(const char *text);

/* True for 32 lower-case hexadecimal digits, not all of them 0 (W3C Trace Context). */
bool baton_is_trace_id(const char *text);

/* Sets those of the two that are valid; NULL counts as "". */
void baton_request_tag_set(struct baton_request_tag *tag, const char *id, const char *trace_id);

/* The fields of a line about a request. */
#define BATON_REQUEST(request_id, tag)                                                             \
    BATON_X("req", request_id), BATON_O("id", (tag).id), BATON_O("trace", (tag).trace_id)

#endif
