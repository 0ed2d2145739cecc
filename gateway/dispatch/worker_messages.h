/* Handles workers' messages about requests: reservations, first tokens, tokens, ends, failures.
 *
 * Ownership: borrows the message.
 * Threading: loop thread.
 * Errors:    ignores a message of an unknown request or of an earlier attempt. A message that
 *            contradicts its request breaks that request's attempt and no other's.
 */
#ifndef BATON_GATEWAY_DISPATCH_WORKER_MESSAGES_H
#define BATON_GATEWAY_DISPATCH_WORKER_MESSAGES_H

#include "gateway/dispatch/dispatcher.h"

void gw_worker_messages_handle(struct gw_dispatcher *dispatcher, struct gw_worker *worker,
                               const baton_envelope *envelope);

#endif
