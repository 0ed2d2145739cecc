/* Reads the head of an HTTP/1.1 request (RFC 9112), strictly: a head that two servers could read
 * differently is refused, because request smuggling exploits that difference.
 *
 *     head = *CRLF  method SP target SP "HTTP/1." ("0" | "1") CRLF  *(name ":" value CRLF)  CRLF
 *
 * Refused: control characters, bare CR or LF, folded lines, a space before the colon, names that
 * are not tokens, Content-Length together with Transfer-Encoding, either of them twice, a coding
 * other than exactly "chunked", any coding on 1.0, no Host on 1.1, two Hosts, other versions,
 * unknown methods and CONNECT. Upgrade is ignored.
 *
 * Ownership: the views of a gw_head borrow the parsed bytes; a refusal's texts are static.
 * Threading: pure functions.
 * Errors:    AGAIN (no empty line yet), INVALID (the refusal is the answer before the connection is
 *            closed).
 */
#ifndef BATON_GATEWAY_HTTP_READER_H
#define BATON_GATEWAY_HTTP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "gateway/http/status.h"
#include "gateway/http/syntax.h"

enum { GW_HEAD_MAX_HEADERS = 100 };

struct gw_header {
    struct gw_view name; /* as written */
    struct gw_view value;
};

struct gw_head {
    struct gw_view method; /* GET HEAD POST PUT PATCH DELETE OPTIONS TRACE */
    struct gw_view path;   /* starts with '/', or is "*" (OPTIONS only); still percent-encoded */
    struct gw_view query;  /* after '?', empty without one */
    int minor;             /* 0 or 1 */
    bool keep_alive;       /* by version and Connection */
    bool chunked;
    bool expects_continue;
    uint64_t content_length; /* 0 without one, and when chunked; UINT64_MAX when larger */
    size_t n_headers;
    struct gw_header headers[GW_HEAD_MAX_HEADERS];
};

/* How much of a head was scanned, so that one that arrives slowly is read once. All zero at
 * first. */
struct gw_head_scan {
    size_t start; /* empty lines before the request line end here */
    size_t seen;
};

/* Parses the n bytes at the start of a request. OK: *head, and *n_used bytes are the head. AGAIN:
 * call again with the same bytes and more of them. INVALID: *refusal; a bad byte is refused at
 * once, not when the head is complete. The result does not depend on how the bytes were split over
 * calls. */
enum baton_err gw_head_parse(const char *bytes, size_t n, size_t max_bytes,
                             struct gw_head_scan *scan, struct gw_head *head, size_t *n_used,
                             struct gw_error *refusal) BATON_MUST_CHECK;

/* Makes one path of those that mean the same, in place: drops slashes behind a slash and at the
 * end, and decodes the escapes of unreserved characters (RFC 3986 section 6.2.2.2). Other
 * escapes differ in meaning from their character, so "/a%2Fb" stays one segment. Each '%' must be
 * followed by two hexadecimal digits, as in a gw_head's path. */
void gw_path_normalise(char *path);

#endif
