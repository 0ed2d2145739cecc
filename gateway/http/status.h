/* Reason phrases of status codes, and the error object that answers every failed request.
 *
 * Ownership: reasons are static; the object goes to the caller's buffer.
 * Threading: pure functions.
 * Errors:    those of the buffer.
 */
#ifndef BATON_GATEWAY_HTTP_STATUS_H
#define BATON_GATEWAY_HTTP_STATUS_H

#include "common/base/json.h"

/* Returns "Not Found" for 404; "Unknown" for a code that is not in the table. */
const char *gw_status_reason(int status);

/* An error that answers a failed request. */
struct gw_error {
    int status;
    const char *code, *message;
    const char *param;              /* the invalid field; NULL: none */
    int64_t n_prompt_tokens, n_ctx; /* of a prompt that does not fit into n_ctx; 0: neither */
    int retry_after_s;              /* seconds until a retry; 0: by the status */
    const char *allow;              /* 405: the method that the path accepts; otherwise NULL */
    const struct baton_buf *usage;  /* a JSON object: usage before the failure; or NULL */
};

/* Appends {"error":{"message":..,"type":..,"param":..,"code":..}}, OpenAI's form, with the other
 * members where they are set. The type follows from the status. */
void gw_error_put(struct baton_buf *out, const struct gw_error *error);
/* The same with another type; NULL: by the status. */
void gw_error_put_typed(struct baton_buf *out, const struct gw_error *error, const char *type);
/* Appends the members code, param, n_prompt_tokens, n_ctx, retry_after_s and usage, which all APIs'
 * forms have. */
void gw_error_put_details(struct baton_json_out *out, const struct gw_error *error);
/* Appends the error in an API's form: gw_error_put, or another one. */
typedef void (*gw_error_writer)(struct baton_buf *out, const struct gw_error *error);

/* Returns its header lines, or "". Retry-After and x-should-retry, which OpenAI's clients read,
 * state when and whether to retry. A 500 or a 504 says not to, because the same request fails the
 * same way. A 405 has Allow. */
enum { GW_ERROR_HEADERS_BYTES = 80 };
const char *gw_error_headers(const struct gw_error *error, char text[GW_ERROR_HEADERS_BYTES]);

#endif
