/* Anthropic's batches of messages (docs/http-api.md): /v1/messages/batches and the paths below it.
 *
 * Ownership: see gateway/api/api.h.
 * Threading: loop thread; results are read by libuv's pool.
 * Errors:    400 with the field; 404 for another key's batch too; 501 without --files-dir.
 */
#ifndef BATON_GATEWAY_API_BATCHES_MESSAGES_H
#define BATON_GATEWAY_API_BATCHES_MESSAGES_H

#include "gateway/api/api.h"

void gw_messages_batches_create(struct gw_api *api, struct gw_exchange *exchange,
                                const struct baton_json *body);
void gw_messages_batches_list(struct gw_api *api, struct gw_exchange *exchange,
                              const struct baton_json *none);
void gw_messages_batches_get(struct gw_api *api, struct gw_exchange *exchange,
                             const struct baton_json *none);
void gw_messages_batches_results(struct gw_api *api, struct gw_exchange *exchange,
                                 const struct baton_json *none);
void gw_messages_batches_cancel(struct gw_api *api, struct gw_exchange *exchange,
                                const struct baton_json *none);
void gw_messages_batches_delete(struct gw_api *api, struct gw_exchange *exchange,
                                const struct baton_json *none);

#endif
