/* POST /generate and POST /generate/stream: one generation each.
 *
 * A call ties an exchange to a request: it is the request's sink, and turns what comes back into
 * one JSON object, or into server-sent events (meta, token..., summary | error).
 *
 * Ownership: a call lives from the endpoint to the request's last call, or until its client left.
 * Threading: loop thread.
 * Errors:    400 with the field, 429, 503 before a request is queued; later as the request fails.
 */
#ifndef BATON_GATEWAY_API_GENERATE_H
#define BATON_GATEWAY_API_GENERATE_H

#include "gateway/api/api.h"

struct gw_calls *gw_calls_create(void);
void gw_calls_destroy(struct gw_calls *calls);

void gw_generate(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
void gw_generate_stream(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body);

/* data is an exchange's data; true when it was a call's. */
bool gw_generate_gone(struct gw_api *api, void *data, const char *reason);
void gw_generate_full(struct gw_api *api, void *data, bool full);
void gw_generate_tick(struct gw_api *api, int64_t now_ns);

#endif
