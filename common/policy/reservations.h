/* How many requests a decode worker promises a slot in its batch.
 *
 * A batch of max_batch slots that is full gets a free slot at the end of a sequence; a request
 * whose context is already on its way takes it at once. So a worker accepts a few more reservations
 * than it has slots: two, and one for every 32 slots. More of them would wait for a slot with their
 * first token out: clients would see the first gap grow, and their prompts would have been run at
 * the cost of steps. They wait at the gateway instead, before their prompt.
 *
 * Pure.
 */
#ifndef BATON_POLICY_RESERVATIONS_H
#define BATON_POLICY_RESERVATIONS_H

/* The requests, running and promised, beyond which a worker of max_batch slots accepts no more. */
int baton_reservations_max(int max_batch);

#endif
