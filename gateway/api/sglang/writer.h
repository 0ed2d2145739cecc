/* The answers of SGLang's POST /generate, whole or as a stream, whose every event has the text so
 * far.
 *
 * Ownership: see gateway/api/completion/writer.h.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_SGLANG_WRITER_H
#define BATON_GATEWAY_API_SGLANG_WRITER_H

#include "gateway/api/completion/writer.h"

extern const struct gw_answer_writer gw_sglang_writer;

#endif
