/* The routes that score documents for a query (docs/http-api.md): rerank in the shapes of Cohere,
 * Jina and vLLM, of llama.cpp, and of text-embeddings-inference, whose bodies have `texts`; and
 * vLLM's score.
 *
 * A document is a choice of a completion, as a text is for embeddings (embeddings.h).
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_RERANK_RERANK_H
#define BATON_GATEWAY_API_RERANK_RERANK_H

#include "gateway/api/api.h"

/* Results have their documents unless the body says otherwise, as Jina's and vLLM's. */
void gw_rerank(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
/* Results have them only if the body says so, as Cohere's and llama.cpp's. */
void gw_rerank_bare(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *body);
void gw_score(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);

#endif
