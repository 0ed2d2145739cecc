/* The output of a response: its items and their events.
 *
 *     reasoning piece, text piece --> opens an item of that kind, after it closed another one
 *     call, or its pieces         --> closes the open item; is an item of its own
 *
 * Closed items are kept in the turn; the choice's buffers hold all text and reasoning.
 *
 * Ownership: a choice whose completion keeps a struct gw_turn.
 * Threading: loop thread.
 * Errors:    too large: in the buffers of the turn.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_ITEMS_H
#define BATON_GATEWAY_API_RESPONSES_ITEMS_H

#include "gateway/api/completion/writer.h"

/* ---- functions for the writer (writer.h) ---- */

void gw_response_open_item(struct gw_choice *choice);
void gw_response_close_item(struct gw_choice *choice, bool is_last);
void gw_response_write_text(struct gw_choice *choice, const char *text, size_t n);
void gw_response_add_call(struct gw_choice *choice, const struct gw_tool_call *call);
bool gw_response_wants_whole(const struct gw_choice *choice, const struct gw_tool_call *call);
void gw_response_begin_call(struct gw_choice *choice, const struct gw_tool_call *call);
void gw_response_write_arguments(struct gw_choice *choice, const struct gw_tool_call *call);
void gw_response_end_call(struct gw_choice *choice, const struct gw_tool_call *call);

/* The status of a response that is over, and of its last item. */
const char *gw_response_status(const struct gw_choice *choice);

#endif
