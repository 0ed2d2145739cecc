/* The answers of POST /completion, whole or as server-sent events.
 *
 *     {"content", "tokens", "stop": false}                        for every piece of text
 *     {"content", "stop": true, "stop_type", "timings", ...}      at the end, or as the answer
 *
 * Ownership: see gateway/api/completion/writer.h.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_LLAMACPP_WRITER_H
#define BATON_GATEWAY_API_LLAMACPP_WRITER_H

#include "gateway/api/completion/writer.h"
#include "gateway/api/route.h"

struct gw_llamacpp_options {
    bool return_tokens; /* whole answers have the ids beside the text */
    bool was_cut;       /* the prompt was shortened */
    /* Paths of the only members that the last object has, "timings/prompt_n"; owned; NULL: all */
    struct baton_json *fields;
};

extern const struct gw_answer_writer gw_llamacpp_writer;

/* Baton's own, except for the type of a prompt that does not fit. */
extern const struct gw_error_shape gw_llamacpp_errors;

/* The members of "generation_settings" that sampling parameters have. */
void gw_llamacpp_put_sampling(struct baton_json_out *out,
                              const struct baton_sampling_params *sampling);

#endif
