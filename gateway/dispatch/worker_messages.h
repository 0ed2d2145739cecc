/* What workers say about requests: reservations, first tokens, tokens, ends, failures.
 *
 * Ownership: borrows the message.
 * Threading: loop thread.
 * Errors:    what belongs to no request, or to an earlier attempt, is ignored; what contradicts the
 *            request's story breaks its attempt, and no other's.
 */
#ifndef BATON_GATEWAY_DISPATCH_WORKER_MESSAGES_H
#define BATON_GATEWAY_DISPATCH_WORKER_MESSAGES_H

#include "gateway/dispatch/dispatcher.h"

void gw_worker_messages_take(struct gw_dispatcher *dispatcher, struct gw_worker *worker,
                             const baton_envelope *envelope);

#endif
