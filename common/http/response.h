/* Reads an HTTP/1.x response (RFC 9112) from chunks of any size.
 *
 *     HEAD --> BODY --> ENDED        1xx heads are skipped
 *
 * The body ends by its length, its last chunk or, with neither, the end of the connection.
 *
 * Ownership: embedded; the decoded body goes to the caller's buffer.
 * Threading: one owner at a time.
 * Errors:    AGAIN (not at the end yet), INVALID (no HTTP response, or one without a certain end),
 *            LIMIT (a head over BATON_HTTP_HEAD_MAX_BYTES, or a body over the buffer's maximum),
 *            NO_MEMORY; *why says more, and the response must not be fed again.
 */
#ifndef BATON_COMMON_HTTP_RESPONSE_H
#define BATON_COMMON_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/http/chunked.h"

enum { BATON_HTTP_HEAD_MAX_BYTES = 64 << 10 };

enum baton_http_body { BATON_HTTP_BODY_LENGTH, BATON_HTTP_BODY_CHUNKED, BATON_HTTP_BODY_UNTIL_EOF };

struct baton_http_response {
    struct baton_buf head; /* while it is incomplete */
    bool has_head;
    int status;
    bool keep_alive;      /* the connection may carry another request */
    bool is_events;       /* Content-Type: text/event-stream */
    double retry_after_s; /* < 0: no number was given */
    enum baton_http_body body;
    uint64_t left_bytes; /* BATON_HTTP_BODY_LENGTH */
    struct baton_chunked chunked;
};

void baton_http_response_init(struct baton_http_response *response);
void baton_http_response_fini(struct baton_http_response *response);
/* Prepares for another response; keeps the memory. */
void baton_http_response_reset(struct baton_http_response *response);

/* Decodes these bytes and appends the result to body. OK: the response ended and *n_used bytes
 * belonged to it. AGAIN: all were used. */
enum baton_err baton_http_response_feed(struct baton_http_response *response, const char *bytes,
                                        size_t n, size_t *n_used, struct baton_buf *body,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Reports the end of the connection. OK when that ended the body; otherwise it was cut. */
enum baton_err baton_http_response_eof(const struct baton_http_response *response) BATON_MUST_CHECK;

#endif
