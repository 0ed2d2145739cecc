/* POST /tokenize and POST /detokenize.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread; any thread for those of the pool.
 * Errors:    400 with the field.
 */
#ifndef BATON_GATEWAY_API_ROUTES_TEXT_H
#define BATON_GATEWAY_API_ROUTES_TEXT_H

#include "gateway/api/api.h"

/* {"text"} to {"tokens", "pieces", "count"}; also vLLM's conversations, and TGI's inputs. */
void gw_tokenize(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
/* {"tokens"} to {"text"}. */
void gw_detokenize(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);

/* The same for large bodies; false for those that only the loop can answer. */
bool gw_tokenize_on_pool(struct gw_api *api, const struct baton_json *body, struct gw_reply *reply);
bool gw_detokenize_on_pool(struct gw_api *api, const struct baton_json *body,
                           struct gw_reply *reply);

/* Refuses a reply whose body names neither the model nor an adapter. Loop thread. */
void gw_text_check_model(const struct gw_api *api, struct gw_reply *reply);

#endif
