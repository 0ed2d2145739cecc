/* Errors as Ollama's clients read them.
 *
 * Ownership: writes into the caller's buffer.
 * Threading: loop thread.
 * Errors:    those of the buffer.
 */
#ifndef BATON_GATEWAY_API_OLLAMA_ERROR_H
#define BATON_GATEWAY_API_OLLAMA_ERROR_H

#include "gateway/api/route.h"

/* The exchange's errors have their shape: {"error":"message"}, with the code and the field at fault
 * beside. */
extern const struct gw_error_shape gw_ollama_errors;

#endif
