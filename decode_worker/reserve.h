/* The reservation: what a request gets before its prompt runs anywhere, namely blocks for its whole
 * context and, soon, a slot in the batch. A gateway sends Reserve; the answer is Reserved or
 * Rejected.
 *
 * More contexts than slots would wait after their first token is out: readers would see the first
 * gap grow, and prompts would run at the cost of steps. So requests wait at their gateway before
 * their prompt, where another worker can still take them or admission can refuse them. A paused
 * context leaves its slot to another, so it does not count.
 *
 * Ownership: the contexts it makes belong to the service.
 * Threading: main thread.
 * Errors:    none. Without memory the answer is Rejected.
 */
#ifndef BATON_DECODE_WORKER_RESERVE_H
#define BATON_DECODE_WORKER_RESERVE_H

#include "decode_worker/context_steps.h"

/* Answers the Reserve in envelope, whose request has no context yet. Of the contexts here, n_paused
 * wait for credit. */
void dc_reserve_answer(struct dc_service *service, int n_paused, struct baton_link *gateway,
                       const baton_envelope *envelope);

#endif
