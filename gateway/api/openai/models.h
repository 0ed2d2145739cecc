/* GET /v1/models and /v1/models/{id}: the served model.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    404 for another model.
 */
#ifndef BATON_GATEWAY_API_OPENAI_MODELS_H
#define BATON_GATEWAY_API_OPENAI_MODELS_H

#include "gateway/api/api.h"

void gw_openai_models(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *body);
/* GET /v1/models/{id} */
void gw_openai_model(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);

#endif
