/* GET /health, /ready, /workers, /metrics: the state of the gateway and its fleet.
 *
 * Ownership, threading: as api.h.
 * Errors:    /ready answers 503 with the reason while no prompt could be served.
 */
#ifndef BATON_GATEWAY_API_INFO_H
#define BATON_GATEWAY_API_INFO_H

#include "gateway/api/api.h"

void gw_info_health(struct gw_api *api, struct gw_exchange *exchange,
                    const struct baton_json *body);
void gw_info_ready(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
void gw_info_workers(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);
void gw_info_metrics(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);

#endif
