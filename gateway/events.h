/* What workers say about requests: room, first tokens, tokens, ends, failures.
 *
 * Ownership: borrows the message.
 * Threading: loop thread.
 * Errors:    what belongs to no request, or to an earlier attempt, is ignored; what contradicts the
 *            request's story breaks its attempt, and no other's.
 */
#ifndef BATON_GATEWAY_EVENTS_H
#define BATON_GATEWAY_EVENTS_H

#include "gateway/router.h"

void gw_events_take(struct gw_router *router, struct gw_worker *worker,
                    const baton_envelope *envelope);

#endif
