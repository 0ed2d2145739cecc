/* Between the files of a completion: completion.c (its life, and what its requests say), start.c
 * (how it comes to its requests). See completion.h.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_PARTS_H
#define BATON_GATEWAY_API_COMPLETION_PARTS_H

#include "gateway/api/completion/completion.h"

enum { GW_TEXT_MAX_BYTES = 64 << 20 };

/* Puts a completion into the table, or takes it out and frees it. */
void gw_completion_list(struct gw_completion *completion);
void gw_completion_destroy(struct gw_completion *completion);

/* What one choice hears of its request. */
struct gw_sink gw_completion_sink(struct gw_choice *choice);

/* Ends what is left of the completion's requests. From here on nothing is told. */
void gw_completion_cancel_rest(struct gw_completion *completion, const char *reason);

#endif
