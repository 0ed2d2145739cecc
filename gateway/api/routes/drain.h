/* POST /workers/{id}/drain: a worker gets no more work, finishes its work, and stops.
 *
 * Ownership: keeps nothing.
 * Threading: loop thread.
 * Errors:    404 for an unknown worker.
 */
#ifndef BATON_GATEWAY_API_ROUTES_DRAIN_H
#define BATON_GATEWAY_API_ROUTES_DRAIN_H

#include "gateway/api/api.h"

/* The endpoint. A repeated request changes nothing and gets the same answer. */
void gw_drain_worker(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused);

#endif
