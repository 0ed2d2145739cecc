/* Errors as Ollama's clients read them.
 *
 * Ownership: writes into the caller's buffer.
 * Threading: loop thread.
 * Errors:    those of the buffer.
 */
#ifndef BATON_GATEWAY_API_OLLAMA_ERROR_H
#define BATON_GATEWAY_API_OLLAMA_ERROR_H

#include "gateway/http/server.h"

/* The exchange's errors have their shape: {"error":"message"}, with the code and the field at fault
 * beside. */
void gw_ollama_mark(struct gw_exchange *exchange);

#endif
