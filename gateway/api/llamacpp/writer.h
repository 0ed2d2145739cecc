/* The answers of POST /completion, whole or as server-sent events.
 *
 *     {"content", "tokens", "stop": false}                        for every piece of text
 *     {"content", "stop": true, "stop_type", "timings", ...}      at the end, or as the answer
 *
 * Ownership: see gateway/request/response_writer.h.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_LLAMACPP_WRITER_H
#define BATON_GATEWAY_API_LLAMACPP_WRITER_H

#include "gateway/api/completion/completion.h"

extern const struct gw_response_writer gw_llamacpp_writer;

/* The members of "generation_settings" that sampling parameters have. */
void gw_llamacpp_put_sampling(struct baton_json_out *out,
                              const struct baton_sampling_params *sampling);

#endif
