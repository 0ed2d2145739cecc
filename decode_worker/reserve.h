/* The reservation of a request before its prompt runs: blocks for its whole context and a slot in
 * the batch. A gateway sends Reserve; the answer is Reserved or Rejected.
 *
 * With more contexts than slots, requests would wait after their first token: readers would see a
 * long first gap, and prompts would run at the cost of steps. So requests wait at their gateway
 * before their prompt, where another worker can still serve them or admission can reject them. A
 * paused context leaves its slot to another one, so it does not count.
 *
 * A context whose blocks are not backed by memory yet waits with its Reserve; the pool's thread
 * wakes the worker when more are (engine/kv/growth.h).
 *
 * Ownership: the created contexts belong to the service.
 * Threading: main thread.
 * Errors:    none. Without memory the answer is Rejected.
 */
#ifndef BATON_DECODE_WORKER_RESERVE_H
#define BATON_DECODE_WORKER_RESERVE_H

#include "decode_worker/context_steps.h"

/* Answers the Reserve in envelope, whose request has no context yet. n_paused of the contexts wait
 * for credit. */
void dc_reserve_answer(struct dc_service *service, int n_paused, struct baton_link *gateway,
                       const baton_envelope *envelope);

/* Tries again to reserve for a context that waits, and answers unless it still does. A rejected one
 * is canceled. */
void dc_reserve_again(struct dc_service *service, struct dc_context *context);

#endif
