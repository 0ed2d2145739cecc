/* GET /ready, /version, /workers, /metrics: the state of the gateway and its fleet.
 *
 * Ownership: as gateway/api/api.h.
 * Threading: loop thread.
 * Errors:    /ready answers 503 with the reason while no prompt could be served.
 */
#ifndef BATON_GATEWAY_API_ROUTES_INFO_H
#define BATON_GATEWAY_API_ROUTES_INFO_H

#include "gateway/api/api.h"

/* 200 while a prefill and a decode worker are ready and the gateway is not stopping. */
void gw_info_ready(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
/* The release and the commit. */
void gw_info_version(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);
/* The fleet, and which role it lacks. */
void gw_info_workers(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);
/* Prometheus text. */
void gw_info_metrics(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body);

#endif
