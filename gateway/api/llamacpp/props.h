/* GET /props, POST /apply-template and the count of a conversation (docs/http-api.md), which
 * llama.cpp's clients call.
 *
 * Ownership: keeps nothing.
 * Threading: loop thread.
 * Errors:    400 with the field.
 */
#ifndef BATON_GATEWAY_API_LLAMACPP_PROPS_H
#define BATON_GATEWAY_API_LLAMACPP_PROPS_H

#include "gateway/api/api.h"

void gw_llamacpp_props(struct gw_api *api, struct gw_exchange *exchange,
                       const struct baton_json *unused);
void gw_llamacpp_apply_template(struct gw_api *api, struct gw_exchange *exchange,
                                const struct baton_json *body);
void gw_llamacpp_input_tokens(struct gw_api *api, struct gw_exchange *exchange,
                              const struct baton_json *body);

#endif
