/* POST /completion and /infill (docs/http-api.md): llama.cpp's own routes with its names of fields.
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field, 501 for a model that cannot fill in; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_LLAMACPP_COMPLETION_H
#define BATON_GATEWAY_API_LLAMACPP_COMPLETION_H

#include "gateway/api/api.h"

void gw_llamacpp_completion(struct gw_api *api, struct gw_exchange *exchange,
                            const struct baton_json *body);
void gw_llamacpp_infill(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body);

#endif
