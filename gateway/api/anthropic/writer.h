/* The answers of POST /v1/messages, whole or as a stream of events.
 *
 *     message_start  content_block_start  ping
 *     content_block_delta ...
 *     content_block_stop  message_delta  message_stop
 *
 * A failure after the first event is an event `error`. A quiet stream gets pings.
 *
 * Ownership: see gateway/api/completion/writer.h.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_ANTHROPIC_WRITER_H
#define BATON_GATEWAY_API_ANTHROPIC_WRITER_H

#include "gateway/api/completion/writer.h"
#include "gateway/api/route.h"

extern const struct gw_answer_writer gw_anthropic_writer;
extern const struct gw_stream_format gw_anthropic_format;

/* {"type":"error","error":{"type","message"}}, also with the code and the field at fault. Every
 * answer has Anthropic's header request-id. */
extern const struct gw_error_shape gw_anthropic_errors;

#endif
