/* POST /workers/{id}/drain: a worker gets no more work, finishes what it has, and stops.
 *
 * Ownership: nothing is kept.
 * Threading: loop thread.
 * Errors:    404 names a worker that is not here.
 */
#ifndef BATON_GATEWAY_API_ROUTES_DRAIN_H
#define BATON_GATEWAY_API_ROUTES_DRAIN_H

#include "gateway/api/api.h"

/* The endpoint. Asked again, it says the same. */
void gw_drain_worker(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused);

#endif
