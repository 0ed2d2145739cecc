/* POST /generate_stream, POST /, of a body with `inputs` POST /generate, and GET /info: the routes
 * of Hugging Face's text-generation-inference (docs/http-api.md).
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_TGI_GENERATE_H
#define BATON_GATEWAY_API_TGI_GENERATE_H

#include "gateway/api/api.h"

/* Whether a body of /generate is TGI's. */
bool gw_tgi_is_body(const struct baton_json *body);

/* One JSON answer; server-sent events; either, where an answer is an array of one. */
void gw_tgi_generate(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);
void gw_tgi_generate_stream(struct gw_api *api, struct gw_exchange *exchange,
                            const struct baton_json *body);
void gw_tgi_compatible(struct gw_api *api, struct gw_exchange *exchange,
                       const struct baton_json *body);

/* GET /info: the model and the bounds of requests. */
void gw_tgi_info(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *unused);

#endif
