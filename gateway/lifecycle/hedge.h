/* Hedging: a request whose decode worker is suspect already looks for another place.
 *
 *     DECODING --worker is suspect--> QUEUED -> RESERVING -> PREFILLING --first token--> settled
 *        ^                              |           |            |
 *        +--------- the suspect speaks: reverted ---+------------+
 *
 * Meanwhile the request has two attempts: the one that is under way, and the doubted one, which may
 * still go on. The first of the two to make the next token stays; the other is canceled. A hedge
 * that settles, or whose suspect is lost, is a migration.
 *
 * Ownership: borrows requests and workers.
 * Threading: loop thread.
 * Errors:    none; a request that cannot be hedged waits for its worker.
 */
#ifndef BATON_GATEWAY_LIFECYCLE_HEDGE_H
#define BATON_GATEWAY_LIFECYCLE_HEDGE_H

#include "gateway/lifecycle/lifecycle.h"

/* Hedges the requests that decode at the suspect worker and heard nothing since it is suspect.
 * Another worker of its role is ready. */
void gw_hedge_begin(struct gw_lifecycle *lifecycle, const struct gw_worker *suspect);

/* The doubted attempt goes on; the newer one is canceled. */
void gw_hedge_revert(struct gw_lifecycle *lifecycle, struct gw_request *request);

/* The newer attempt made a token: the doubted one is canceled. Does nothing without a hedge. */
void gw_hedge_settle(struct gw_lifecycle *lifecycle, struct gw_request *request);

/* Cancels the doubted attempt, if any: the request ends. */
void gw_hedge_drop(struct gw_request *request, const char *reason);

/* The worker is gone (is_gone) or stalled: attempts that are doubted there are over. */
void gw_hedge_worker_lost(struct gw_lifecycle *lifecycle, const struct gw_worker *worker,
                          bool is_gone);

#endif
