/* The output of a response: its items, and the events that tell of them.
 *
 *     reasoning piece, text piece --> opens an item of that kind, after it closed another one
 *     call                        --> closes what is open; is an item at once
 *
 * Closed items stand in the turn; the choice's buffers gather all of the text and the reasoning.
 *
 * Ownership: a choice whose completion keeps a struct gw_turn.
 * Threading: loop thread.
 * Errors:    too large: in the buffers of the turn.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_ITEMS_H
#define BATON_GATEWAY_API_RESPONSES_ITEMS_H

#include "gateway/api/completion/completion.h"

extern const struct gw_parts gw_response_parts;

/* No more comes: status is the last item's. There is at least one. */
void gw_response_items_end(struct gw_choice *choice, const char *status);

#endif
