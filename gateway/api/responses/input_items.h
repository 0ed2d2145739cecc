/* The input of a stored response as items, for GET /v1/responses/{id}/input_items.
 *
 * The store keeps conversations as messages (input.h); each message becomes the items that it was
 * made of: reasoning, a message, calls, or the output of a call.
 *
 * Ownership: items are the caller's.
 * Threading: loop thread.
 * Errors:    NULL without memory; a query that is out of range is answered.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_INPUT_ITEMS_H
#define BATON_GATEWAY_API_RESPONSES_INPUT_ITEMS_H

#include "gateway/api/api.h"
#include "gateway/api/responses/store.h"

/* Returns an array of all items before the answer, the oldest first. */
struct baton_json *gw_input_items(const struct gw_stored_response *stored);

/* Answers with the page of the items, which have ids, that the exchange's query asks for: limit,
 * order and after. */
void gw_input_items_answer(struct gw_exchange *exchange, const struct baton_json *items);
/* Answers with all of them. */
void gw_input_items_answer_all(struct gw_exchange *exchange, const struct baton_json *items);

#endif
