/* The routes of Hugging Face's text-embeddings-inference (docs/http-api.md) beside /rerank
 * (gateway/api/rerank/rerank.h): POST /embed and, of an encoder, GET /info.
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    422 with the field; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_TEI_EMBED_H
#define BATON_GATEWAY_API_TEI_EMBED_H

#include "gateway/api/api.h"

void gw_tei_embed(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
/* Writes the members of /info. */
void gw_tei_put_info(struct baton_json_out *out, const struct gw_api *api);

#endif
