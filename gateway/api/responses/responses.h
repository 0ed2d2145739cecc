/* OpenAI's Responses API (docs/http-api.md): /v1/responses and the paths below it.
 *
 * Responses are stored in memory, and only visible to the API key that made them (store.h). One in
 * the background goes on without its client, which asks for it by its id; until its end the store
 * has a response without an answer in its place. Its stream, if it has one, is a lasting one
 * (streams/stream.h) that a client may read again (replay.h).
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field, 404 for another model or a response that is not stored; the rest
 *            as a completion.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_RESPONSES_H
#define BATON_GATEWAY_API_RESPONSES_RESPONSES_H

#include "gateway/api/api.h"

void gw_responses(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
void gw_responses_input_tokens(struct gw_api *api, struct gw_exchange *exchange,
                               const struct baton_json *body);
void gw_responses_get(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *none);
void gw_responses_delete(struct gw_api *api, struct gw_exchange *exchange,
                         const struct baton_json *none);
void gw_responses_cancel(struct gw_api *api, struct gw_exchange *exchange,
                         const struct baton_json *none);
void gw_responses_input_items(struct gw_api *api, struct gw_exchange *exchange,
                              const struct baton_json *none);

#endif
