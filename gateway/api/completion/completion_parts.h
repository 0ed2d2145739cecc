/* What the parts of a completion know of each other: its start (start.c), its life (completion.c)
 * and what comes back of its requests (writer.c). completion.h and writer.h are what others use.
 *
 * Ownership, threading, errors: as in completion.h.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_COMPLETION_PARTS_H
#define BATON_GATEWAY_API_COMPLETION_COMPLETION_PARTS_H

#include "gateway/api/completion/writer.h"

enum { GW_EVENT_MAX_BYTES = 4 << 20 };

/* Of the choices, how many count against the bounds of its key and of the queue. */
size_t gw_completion_n_at_once(const struct gw_completion *completion);

/* Queues the next choice, if one is left. */
void gw_completion_queue_next(struct gw_completion *completion);

/* The completion is among its api's from now on. */
void gw_completions_add(struct gw_completion *completion);

/* Ends its remaining requests and frees it. The client is told nothing. */
void gw_completion_drop(struct gw_completion *completion, const char *reason);
/* Frees it; none of its requests is left. */
void gw_completion_destroy(struct gw_completion *completion);

/* Charges the client for what the choice made, and notes it for the access line; the same of all
 * choices whose requests are about to go. */
void gw_choice_charge(struct gw_choice *choice);
void gw_completion_charge_rest(struct gw_completion *completion);

/* Sends the head of the stream, once; does nothing when the answer is whole. */
void gw_completion_begin(struct gw_completion *completion);
/* After the last event. */
void gw_completion_end_stream(struct gw_completion *completion);
/* The exchange, which is about to be answered, is not to lead to the completion any more; that of
 * a stream leads to the stream. */
void gw_completion_leave_exchange(struct gw_completion *completion);

#endif
