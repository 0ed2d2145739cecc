/* Limits the requests to which a decode worker promises a slot in its batch.
 *
 * A full batch of max_batch slots gets a free slot at the end of a sequence, and a request whose
 * context is already on its way takes it at once. So a worker accepts a few more reservations than
 * it has slots: two, and one for every 32 slots. More of them would wait for a slot with their
 * first token out: clients would see the first gap grow, and their prompts would have been run at
 * the cost of steps. They wait at the gateway instead, before their prompt.
 *
 * Batch sequences give their slots up to interactive ones (common/policy/priority.h). So they count
 * for an interactive request only as far as their share of the slots is guaranteed: a batch that is
 * full of batch sequences is not full to it.
 *
 * Pure.
 */
#ifndef BATON_COMMON_POLICY_RESERVATIONS_H
#define BATON_COMMON_POLICY_RESERVATIONS_H

#include "common/policy/priority.h"

/* Returns the number of requests, running and promised, that a worker of max_batch slots
 * accepts. */
int baton_reservations_max(int max_batch);

/* True when one more request of the class may be promised one of n_slots, beside those that have
 * one or a promise: n_held [BATON_N_PRIORITIES], by class. Of these n_paused use none. */
bool baton_reservations_may(int n_slots, enum baton_priority priority, const int *n_held,
                            int n_paused);

#endif
