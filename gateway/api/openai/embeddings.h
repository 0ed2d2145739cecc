/* POST /v1/embeddings.
 *
 *     {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [...]}], ...}
 *
 * Ownership: see gateway/api/completion/writer.h.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_OPENAI_EMBEDDINGS_H
#define BATON_GATEWAY_API_OPENAI_EMBEDDINGS_H

#include "gateway/api/api.h"

void gw_openai_embeddings(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body);

#endif
