/* The answers of POST /v1/responses, whole or as a stream of events, each with its number.
 *
 *     response.created  (in the background: response.queued)  response.in_progress
 *     response.output_item.added  response.content_part.added
 *     response.output_text.delta ...
 *     response.output_text.done  response.content_part.done  response.output_item.done
 *     response.completed | response.incomplete
 *
 * A failure after the first event is an event response.failed.
 *
 * Ownership: see gateway/api/completion/writer.h. A completion keeps its struct gw_turn.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_WRITER_H
#define BATON_GATEWAY_API_RESPONSES_WRITER_H

#include "gateway/api/completion/writer.h"

extern const struct gw_answer_writer gw_responses_writer;

/* Ends a response in the background and stores it as "cancelled". */
void gw_response_cancel(struct gw_completion *completion);

#endif
