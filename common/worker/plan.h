/* How a request's tokens are chosen and which of them end it, as both workers keep it.
 *
 * Ownership: plain data, copied out of the message.
 * Threading: set once on the main thread, then read by the engine thread.
 * Errors:    none; the message was checked when it arrived.
 */
#ifndef BATON_WORKER_PLAN_H
#define BATON_WORKER_PLAN_H

#include <stdbool.h>

#include "common/engine/sample.h"
#include "common/wire/envelope.h"

struct baton_plan {
    struct baton_sampling sampling;
    uint32_t stop_ids[BATON_MAX_STOP_IDS];
    size_t n_stop_ids;
};

void baton_plan_set(struct baton_plan *plan, const Baton__V1__Sampling *sampling);

/* Whether generation ends with this token. */
bool baton_plan_is_stop(const struct baton_plan *plan, uint32_t token);

#endif
