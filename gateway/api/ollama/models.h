/* GET /api/tags, /api/ps and /api/version, POST /api/show and /api/pull: the served model in
 * Ollama's form.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    404 for another model.
 */
#ifndef BATON_GATEWAY_API_OLLAMA_MODELS_H
#define BATON_GATEWAY_API_OLLAMA_MODELS_H

#include "gateway/api/api.h"

void gw_ollama_tags(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *none);
void gw_ollama_ps(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none);
void gw_ollama_show(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *body);
void gw_ollama_pull(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *body);
void gw_ollama_version(struct gw_api *api, struct gw_exchange *exchange,
                       const struct baton_json *none);

/* Write "details" and "capabilities". */
void gw_ollama_put_details(struct baton_json_out *out, const struct gw_api *api);
void gw_ollama_put_capabilities(struct baton_json_out *out, const struct gw_api *api);

#endif
