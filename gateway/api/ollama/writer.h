/* The answers of POST /api/generate and POST /api/chat, whole or as a stream of lines.
 *
 *     {"response" or "message", "done": false}   for every piece of text
 *     {"done": true, "done_reason", counts and durations}
 *
 * A failure after the first line is a line {"error"}. A quiet stream gets lines without text.
 *
 * Ownership: see gateway/api/completion/writer.h.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_OLLAMA_WRITER_H
#define BATON_GATEWAY_API_OLLAMA_WRITER_H

#include "gateway/api/completion/writer.h"
#include "gateway/api/route.h"

struct gw_ollama_options {
    bool chat;        /* the shape of /api/chat */
    bool has_context; /* ends with the token ids of prompt and output */
};

extern const struct gw_answer_writer gw_ollama_writer;
extern const struct gw_stream_format gw_ollama_format;

/* Answers a request without a text: the model is loaded, or counts as unloaded. */
void gw_ollama_answer_load(const struct gw_api *api, struct gw_exchange *exchange, bool chat,
                           bool unloads);

/* {"error":"message"}, also with the code and the field at fault. */
extern const struct gw_error_shape gw_ollama_errors;

#endif
