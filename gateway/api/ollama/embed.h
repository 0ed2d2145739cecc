/* POST /api/embed, and POST /api/embeddings, its predecessor in Ollama.
 *
 *     {"model": ..., "embeddings": [[...]], ...}     normalised
 *     {"embedding": [...]}                           of one prompt, not normalised
 *
 * Ownership: see gateway/api/completion/writer.h.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_OLLAMA_EMBED_H
#define BATON_GATEWAY_API_OLLAMA_EMBED_H

#include "gateway/api/api.h"

void gw_ollama_embed(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);
void gw_ollama_embeddings(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body);

#endif
