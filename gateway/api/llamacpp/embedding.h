/* POST /embedding and /embeddings (docs/http-api.md): llama.cpp's own shape of embeddings.
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_LLAMACPP_EMBEDDING_H
#define BATON_GATEWAY_API_LLAMACPP_EMBEDDING_H

#include "gateway/api/api.h"

void gw_llamacpp_embedding(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *body);

#endif
