/* POST /generate and POST /generate/stream: the native routes (docs/http-api.md).
 *
 * /generate accepts one prompt or a batch and answers one JSON object; a body with `inputs` gets
 * TGI's answer (gateway/api/tgi/generate.h). /generate/stream accepts one prompt and answers
 * server-sent events: meta, token..., summary | error, with a step before the text of every
 * explained token.
 *
 * Ownership: see gateway/api/completion/completion.h.
 * Threading: loop thread.
 * Errors:    400 with the field; the rest as a completion.
 */
#ifndef BATON_GATEWAY_API_NATIVE_GENERATE_H
#define BATON_GATEWAY_API_NATIVE_GENERATE_H

#include "gateway/api/api.h"

/* The endpoints: one JSON answer; server-sent events. */
void gw_generate(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
void gw_generate_stream(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body);

#endif
