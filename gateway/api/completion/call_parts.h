/* Between the files of a call: call.c (its life, and what its requests say), call_start.c (how it
 * comes to its requests). See call.h.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_CALL_PARTS_H
#define BATON_GATEWAY_API_COMPLETION_CALL_PARTS_H

#include "gateway/api/completion/call.h"

enum { GW_TEXT_MAX_BYTES = 64 << 20, GW_ERROR_MAX_BYTES = 4096 };

/* Puts a call into the table, or takes it out and frees it. */
void gw_call_list(struct gw_call *call);
void gw_call_destroy(struct gw_call *call);

/* What one choice hears of its request. */
struct gw_sink gw_call_sink(struct gw_choice *choice);

/* Ends what is left of the call's requests. From here on nothing is told. */
void gw_call_cancel_rest(struct gw_call *call, const char *reason);

#endif
