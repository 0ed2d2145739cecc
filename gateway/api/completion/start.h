/* What the start of a completion (start.c) and the rest of its life (completion.c) know of each
 * other; completion.h is what others use.
 *
 * Ownership, threading, errors: as in completion.h.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_START_H
#define BATON_GATEWAY_API_COMPLETION_START_H

#include "gateway/api/completion/completion.h"

/* The format of streams whose route has none of its own. */
extern const struct gw_stream_format gw_server_sent_events;

/* Of the choices, how many count against the bounds of its key and of the queue. */
size_t gw_completion_n_at_once(const struct gw_completion *completion);

/* Queues the next choice, if one is left. */
void gw_completion_queue_next(struct gw_completion *completion);

/* The completion is among its api's from now on. */
void gw_completions_add(struct gw_completion *completion);

/* Ends its remaining requests and frees it. The client is told nothing. */
void gw_completion_drop(struct gw_completion *completion, const char *reason);

#endif
