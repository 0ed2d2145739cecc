/* The routes of Hugging Face's text-generation-inference (docs/http-api.md): POST /generate_stream,
 * POST /, POST /generate with a body that has `inputs`, and GET /info.
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_TGI_GENERATE_H
#define BATON_GATEWAY_API_TGI_GENERATE_H

#include "gateway/api/api.h"

/* Whether a body of /generate or /tokenize has TGI's form. */
bool gw_tgi_is_body(const struct baton_json *body);

/* The endpoints: one JSON answer; server-sent events; either, by the field "stream", with the JSON
 * answer inside an array. */
void gw_tgi_generate(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);
void gw_tgi_generate_stream(struct gw_api *api, struct gw_exchange *exchange,
                            const struct baton_json *body);
void gw_tgi_compatible(struct gw_api *api, struct gw_exchange *exchange,
                       const struct baton_json *body);

/* GET /info: the model and the bounds of requests. */
void gw_tgi_info(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *unused);
void gw_tgi_chat_tokenize(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body);

/* POST /tokenize with TGI's body: an array of tokens. Any thread, with a tokenizer of its own. */
void gw_tgi_tokenize(const struct gw_api *api, struct baton_tokenizer *tokenizer,
                     const struct baton_json *body, struct gw_reply *reply);

#endif
