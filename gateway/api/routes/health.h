/* The health of the gateway (GET /live, GET /health) and of its fleet.
 *
 *     /live, /health      200 while the loop runs: for supervisors that restart the process
 *     /ready              200 while prompts can be served: for load balancers (info.h)
 *     /health?detail=1    200, with each check and its age: for people
 *
 * The details name no worker, because health needs no API key.
 *
 * Ownership: as api.h.
 * Threading: loop thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_API_ROUTES_HEALTH_H
#define BATON_GATEWAY_API_ROUTES_HEALTH_H

#include "gateway/api/api.h"

void gw_health(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
void gw_live(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);

#endif
