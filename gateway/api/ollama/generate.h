/* POST /api/generate and POST /api/chat (docs/http-api.md): Ollama's API.
 *
 * They accept Ollama's fields and, inside `options` or outside, the native sampling fields; unknown
 * fields are ignored and listed in x-baton-ignored.
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field, 404 for another model; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_OLLAMA_GENERATE_H
#define BATON_GATEWAY_API_OLLAMA_GENERATE_H

#include "gateway/api/api.h"

void gw_ollama_generate(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body);
void gw_ollama_chat(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *body);

#endif
