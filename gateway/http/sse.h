/* Writes server-sent events (the WHATWG HTML standard, section 9.2).
 *
 * CR, LF and CR LF all end a line in that format, so data is written as one "data:" line for each
 * of its lines, and a client joins them with LF: every kind of line end in data arrives as LF,
 * every other byte unchanged. Text that may have a CR must be written as JSON, which escapes it.
 * Data should be UTF-8.
 *
 * Ownership: bytes go to the caller's buffer.
 * Threading: pure functions.
 * Errors:    those of the buffer.
 */
#ifndef BATON_GATEWAY_HTTP_SSE_H
#define BATON_GATEWAY_HTTP_SSE_H

#include <stddef.h>

#include "common/base/buf.h"

/* Writes one event with the n bytes of data. event_or_null contains no line end; NULL writes none,
 * which a client reads as "message". */
void gw_sse_event(struct baton_buf *out, const char *event_or_null, const char *data, size_t n);

/* Writes ": text", which clients ignore: it keeps proxies from closing a quiet stream. text
 * contains no line end. */
void gw_sse_comment(struct baton_buf *out, const char *text);

#endif
