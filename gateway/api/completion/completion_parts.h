/* The internal interface of a completion's three parts: its start (start.c), its lifecycle
 * (completion.c) and the results of its requests (writer.c). Others use completion.h and writer.h.
 *
 * Ownership, threading, errors: as in completion.h.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_COMPLETION_PARTS_H
#define BATON_GATEWAY_API_COMPLETION_COMPLETION_PARTS_H

#include "gateway/api/completion/writer.h"

enum { GW_EVENT_MAX_BYTES = 4 << 20 };

/* The number of choices that count against the bounds of its key and of the queue. */
size_t gw_completion_n_at_once(const struct gw_completion *completion);

/* Queues the next choice, if one is left. */
void gw_completion_queue_next(struct gw_completion *completion);

/* Adds the completion to its api's list. */
void gw_completions_add(struct gw_completion *completion);

/* Ends its remaining requests and frees it. Writes nothing to the client. */
void gw_completion_drop(struct gw_completion *completion, const char *reason);
/* Frees it; none of its requests is left. */
void gw_completion_destroy(struct gw_completion *completion);

/* Charges the client for the choice's tokens, and counts them in the access line; the same for all
 * choices whose requests are about to end. */
void gw_choice_charge(struct gw_choice *choice);
void gw_completion_charge_rest(struct gw_completion *completion);

/* Sends the head of the stream once; no-op for a whole answer. */
void gw_completion_begin(struct gw_completion *completion);
/* Calls the writer's begin once, if it is a stream. */
void gw_choice_begin(struct gw_choice *choice);
/* Ends the stream after its last event. */
void gw_completion_end_stream(struct gw_completion *completion);
/* Detaches the exchange, which is about to be answered, from the completion. The exchange of a
 * resumable stream stays attached to the stream. */
void gw_completion_leave_exchange(struct gw_completion *completion);

#endif
