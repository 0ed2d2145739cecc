/* POST /v1/messages and POST /v1/messages/count_tokens (docs/http-api.md): Anthropic's Messages
 * API.
 *
 * They accept Anthropic's fields and the native sampling fields; unknown fields are ignored and
 * listed in x-baton-ignored.
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field, 404 for another model; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_ANTHROPIC_MESSAGES_H
#define BATON_GATEWAY_API_ANTHROPIC_MESSAGES_H

#include "gateway/api/api.h"

void gw_anthropic_messages(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *body);
void gw_anthropic_count_tokens(struct gw_api *api, struct gw_exchange *exchange,
                               const struct baton_json *body);

#endif
