/* POST /tokenize and POST /detokenize.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread; any thread for those of the pool.
 * Errors:    400 with the field.
 */
#ifndef BATON_GATEWAY_API_ROUTES_TEXT_H
#define BATON_GATEWAY_API_ROUTES_TEXT_H

#include "gateway/api/api.h"

/* {"text"} to {"tokens", "pieces", "count"}. */
void gw_tokenize(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
/* {"tokens"} to {"text"}. */
void gw_detokenize(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);

/* The same for large bodies. */
void gw_tokenize_on_pool(struct gw_api *api, const struct baton_json *body, struct gw_reply *reply);
void gw_detokenize_on_pool(struct gw_api *api, const struct baton_json *body,
                           struct gw_reply *reply);

#endif
