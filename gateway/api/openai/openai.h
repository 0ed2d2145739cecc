/* The OpenAI-compatible routes (docs/http-api.md): /v1/models, /v1/completions,
 * /v1/chat/completions.
 *
 * They take OpenAI's fields and the native sampling fields. What OpenAI knows but we do not do is
 * refused by name unless it asks for nothing; what changes no token (user, metadata, ...) is
 * accepted.
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field, 404 for another model; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_OPENAI_OPENAI_H
#define BATON_GATEWAY_API_OPENAI_OPENAI_H

#include "gateway/api/api.h"

void gw_openai_models(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *body);
/* GET /v1/models/{id} */
void gw_openai_model(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);
void gw_openai_completions(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *body);
void gw_openai_chat(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *body);

#endif
