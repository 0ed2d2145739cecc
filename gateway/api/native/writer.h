/* The answers of the native routes (docs/http-api.md, "Generation").
 *
 *     whole:  one JSON object, for a batch {"results":[...]} of them
 *     stream: meta (step? (token | token_json)?)... summary | error
 *
 * Ownership: see gateway/api/completion/writer.h.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_NATIVE_WRITER_H
#define BATON_GATEWAY_API_NATIVE_WRITER_H

#include "gateway/api/completion/writer.h"

struct gw_native_options {
    bool timeline; /* the answer has the stages */
};

extern const struct gw_answer_writer gw_native_writer;

#endif
