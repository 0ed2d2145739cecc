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

/* Whether and when to try again, as the header lines that OpenAI's clients read; "" for a status
 * that says it itself. A 500 or a 504 would come again: the same request fails the same way. */
const char *gw_status_hints(int status);

/* The same with a Retry-After of retry_s seconds; 0: whatever gw_status_hints says. */
enum { GW_RETRY_HINTS_BYTES = 80 };
const char *gw_status_retry_hints(int status, int retry_s, char text[GW_RETRY_HINTS_BYTES]);

/* Appends {"error":{"message":..,"type":..,"param":..,"code":..}}, the shape OpenAI's clients read;
 * the type follows from the status. param and code may be NULL, which is written as null. */
void gw_error_body(struct baton_buf *out, int status, const char *message,
                   const char *param_or_null, const char *code_or_null);

/* The same with room for more members of the error between open and close. */
void gw_error_open(struct baton_json_out *out, int status, const char *message,
                   const char *param_or_null, const char *code_or_null);
void gw_error_close(struct baton_json_out *out);

#endif
