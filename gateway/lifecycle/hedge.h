/* Hedging starts a second attempt of a request as soon as its decode worker is suspect.
 *
 *     DECODING --worker is suspect--> QUEUED -> RESERVING -> PREFILLING --first token--> settled
 *        ^                              |           |            |
 *        +------ the suspect sends: reverted -------+------------+
 *
 * Meanwhile the request has two attempts: the newer one, and the doubted one, which may still
 * continue. The first of the two that generates the next token stays; the other is canceled. A
 * hedge that settles, or whose suspect is lost, counts as a migration.
 *
 * Ownership: borrows requests and workers.
 * Threading: loop thread.
 * Errors:    none; a request that cannot be hedged waits for its worker.
 */
#ifndef BATON_GATEWAY_LIFECYCLE_HEDGE_H
#define BATON_GATEWAY_LIFECYCLE_HEDGE_H

#include "gateway/lifecycle/lifecycle.h"

/* Hedges the requests that decode at the suspect worker and got no token since it became suspect.
 * Precondition: another decode worker of its numeric class is READY. */
void gw_hedge_begin(struct gw_lifecycle *lifecycle, const struct gw_worker *suspect);

/* The doubted attempt continues; the newer one is canceled. */
void gw_hedge_revert(struct gw_lifecycle *lifecycle, struct gw_request *request);

/* The newer attempt generated a token, so the doubted one is canceled. No-op without a hedge. */
void gw_hedge_settle(struct gw_lifecycle *lifecycle, struct gw_request *request);

/* Cancels the doubted attempt, if any, of a request that ends. */
void gw_hedge_drop(struct gw_request *request, const char *reason);

/* Ends the doubted attempts at a worker that is gone (is_gone) or stalled. */
void gw_hedge_worker_lost(struct gw_lifecycle *lifecycle, const struct gw_worker *worker,
                          bool is_gone);

#endif
