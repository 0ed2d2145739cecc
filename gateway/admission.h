/* Who may wait for a worker, and what others are told at once.
 *
 * Ownership: a refused request is still the caller's to destroy.
 * Threading: loop thread.
 * Errors:    503 or 429, in *failure.
 */
#ifndef BATON_GATEWAY_ADMISSION_H
#define BATON_GATEWAY_ADMISSION_H

#include "gateway/router.h"

/* Queues a tokenized request (state TOKENIZING, its ask filled in). False: refused for the reason
 * in *failure; the request is in state FAILED, and still the caller's to destroy. */
bool gw_admission_submit(struct gw_router *router, struct gw_request *request,
                         struct gw_failure *failure);

#endif
