/* Routes that vLLM has beside OpenAI's.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    those of the routes that invocations passes its bodies to.
 */
#ifndef BATON_GATEWAY_API_OPENAI_VLLM_H
#define BATON_GATEWAY_API_OPENAI_VLLM_H

#include "gateway/api/api.h"

/* {"server_load": generations that wait or run} */
void gw_vllm_load(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none);

/* A body with messages is one of chat, with prompt one of completions, with input one of
 * embeddings. */
void gw_vllm_invocations(struct gw_api *api, struct gw_exchange *exchange,
                         const struct baton_json *body);

#endif
