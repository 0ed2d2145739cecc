/* POST /v1/completions, POST /v1/chat/completions and Mistral's POST /v1/fim/completions
 * (docs/http-api.md).
 *
 * They accept OpenAI's fields and the native sampling fields. An unsupported field of OpenAI's is
 * an error unless its value requests nothing. A field without an effect on tokens (user, metadata,
 * ...) is accepted.
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field, 404 for another model; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_OPENAI_COMPLETIONS_H
#define BATON_GATEWAY_API_OPENAI_COMPLETIONS_H

#include "gateway/api/api.h"

void gw_openai_completions(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *body);
void gw_openai_chat(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *body);
void gw_mistral_fim(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *body);

#endif
