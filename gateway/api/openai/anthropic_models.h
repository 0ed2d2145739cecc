/* Models in the shape of Anthropic's API, for GET /v1/models of its clients.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_API_OPENAI_ANTHROPIC_MODELS_H
#define BATON_GATEWAY_API_OPENAI_ANTHROPIC_MODELS_H

#include "gateway/api/api.h"

/* Writes the members of the model under one of its names. */
void gw_anthropic_put_model(struct baton_json_out *out, const struct gw_api *api, const char *name);

/* Writes the members of a list beside its data: all names are on one page. */
void gw_anthropic_put_page(struct baton_json_out *out, const struct gw_served *models);

#endif
