/* POST /api/copy and /api/create, DELETE /api/delete: further names of the served model, until the
 * gateway ends.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    404 for another model, 400 for what is more than a name.
 */
#ifndef BATON_GATEWAY_API_OLLAMA_ALIASES_H
#define BATON_GATEWAY_API_OLLAMA_ALIASES_H

#include "gateway/api/api.h"

void gw_ollama_copy(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *body);
void gw_ollama_create(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *body);
void gw_ollama_delete(struct gw_api *api, struct gw_exchange *exchange,
                      const struct baton_json *body);

#endif
