/* Status codes in words, and the error object that every failed request is answered with.
 *
 * Ownership: reasons are static; the object goes to the caller's buffer.
 * Threading: pure functions.
 * Errors:    those of the buffer.
 */
#ifndef BATON_GATEWAY_HTTP_STATUS_H
#define BATON_GATEWAY_HTTP_STATUS_H

#include "common/base/json.h"

/* "Not Found"; "Unknown" for a code that is not in the table. */
const char *gw_status_reason(int status);

/* The error that answers a failed request. */
struct gw_error {
    int status;
    const char *code, *message;
    const char *param;             /* the field at fault; NULL: none */
    int retry_after_s;             /* when to try again; 0: what follows from the status */
    const char *allow;             /* 405: the method that the path takes; NULL otherwise */
    const struct baton_buf *usage; /* a JSON object: what was made before the failure; or NULL */
};

/* Appends {"error":{"message":..,"type":..,"param":..,"code":..}}, the shape that OpenAI's clients
 * read, with retry_after_s and usage where they are set. The type follows from the status. */
void gw_error_put(struct baton_buf *out, const struct gw_error *error);
/* Its members code, param, retry_after_s and usage: what the shapes of all APIs have. */
void gw_error_put_details(struct baton_json_out *out, const struct gw_error *error);
/* Appends the error in the shape of an API: gw_error_put, or another of that kind. */
typedef void (*gw_error_writer)(struct baton_buf *out, const struct gw_error *error);

/* Its header lines, or "". Retry-After and x-should-retry, which OpenAI's clients read, say when
 * and whether to try again. A 500 or a 504 says not to, because the same request fails the same
 * way. A 405 has Allow. */
enum { GW_ERROR_HEADERS_BYTES = 80 };
const char *gw_error_headers(const struct gw_error *error, char text[GW_ERROR_HEADERS_BYTES]);

#endif
