/* POST /api/generate and POST /api/chat (docs/http-api.md): Ollama's API.
 *
 * They take Ollama's fields and, in `options` or beside it, the native sampling fields; what is
 * unknown is ignored and told.
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
