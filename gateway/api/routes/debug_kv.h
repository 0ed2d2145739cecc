/* GET /debug/kv: the owners of each worker's KV blocks, with reasons and ages.
 *
 * The gateway queries its workers (KvQuery) and answers when each has answered, was lost, or let
 * its time pass. Each worker also checks its accounting then.
 *
 * Ownership: the debug part owns its open questions and borrows the models.
 * Threading: loop thread.
 * Errors:    429 while too many questions are open; 400 names the query's field at fault.
 */
#ifndef BATON_GATEWAY_API_ROUTES_DEBUG_KV_H
#define BATON_GATEWAY_API_ROUTES_DEBUG_KV_H

#include "gateway/api/api.h"

struct gw_kv_debug;

/* Asks the workers of all these models, which may be set later. NULL without memory. */
struct gw_kv_debug *gw_kv_debug_create(const struct gw_served *served);
/* NULL is fine. */
void gw_kv_debug_destroy(struct gw_kv_debug *debug);

/* The endpoint. */
void gw_debug_kv(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *unused);

/* Handles a worker's answer. */
void gw_kv_debug_handle(struct gw_kv_debug *debug, const struct gw_worker *worker,
                        const Baton__V1__KvAccount *account);
/* The worker will not answer any more. */
void gw_kv_debug_worker_lost(struct gw_kv_debug *debug, const struct gw_worker *worker);
/* Answers the questions whose time is up. */
void gw_kv_debug_tick(struct gw_kv_debug *debug, int64_t now_ns);

/* The client of this exchange, whose data is a question of this kind, left. */
void gw_kv_debug_gone(struct gw_exchange *exchange);

#endif
