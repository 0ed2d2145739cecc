/* OpenAI's conversations (docs/http-api.md): /v1/conversations and the paths below it.
 *
 * Ownership: see gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    400 with the field, 404 for what is not stored or another key's.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_CONVERSATIONS_H
#define BATON_GATEWAY_API_RESPONSES_CONVERSATIONS_H

#include "gateway/api/api.h"

void gw_conversations_create(struct gw_api *api, struct gw_exchange *exchange,
                             const struct baton_json *body);
void gw_conversations_get(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *none);
void gw_conversations_update(struct gw_api *api, struct gw_exchange *exchange,
                             const struct baton_json *body);
void gw_conversations_delete(struct gw_api *api, struct gw_exchange *exchange,
                             const struct baton_json *none);
void gw_conversations_add_items(struct gw_api *api, struct gw_exchange *exchange,
                                const struct baton_json *body);
void gw_conversations_list_items(struct gw_api *api, struct gw_exchange *exchange,
                                 const struct baton_json *none);
void gw_conversations_get_item(struct gw_api *api, struct gw_exchange *exchange,
                               const struct baton_json *none);
void gw_conversations_delete_item(struct gw_api *api, struct gw_exchange *exchange,
                                  const struct baton_json *none);

#endif
