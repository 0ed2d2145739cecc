/* Errors as Anthropic's clients read them.
 *
 * Ownership: writes into the caller's buffer.
 * Threading: loop thread.
 * Errors:    those of the buffer.
 */
#ifndef BATON_GATEWAY_API_ANTHROPIC_ERROR_H
#define BATON_GATEWAY_API_ANTHROPIC_ERROR_H

#include "gateway/api/route.h"

/* Every answer to the exchange says its id as Anthropic does, and its errors have their shape:
 * {"type":"error","error":{"type","message"}}, with the code and the field at fault beside. */
extern const struct gw_error_shape gw_anthropic_errors;

#endif
