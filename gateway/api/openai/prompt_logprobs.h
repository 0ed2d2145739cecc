/* vLLM's "prompt_logprobs": log-probabilities of the prompt's tokens, and of the most probable ones
 * in their places.
 *
 *     [null, {"262": {"logprob": -1.5, "rank": 2, "decoded_token": " the"}, ...}, ...]
 *
 * Ownership: as gateway/api/completion/writer.h.
 * Threading: loop thread.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_OPENAI_PROMPT_LOGPROBS_H
#define BATON_GATEWAY_API_OPENAI_PROMPT_LOGPROBS_H

#include "gateway/api/completion/builder.h"

/* Reads the field, after logprobs and stream. Returns whether they are wanted. */
bool gw_prompt_logprobs_read(struct gw_completion_builder *builder);

/* Writes the member. */
void gw_prompt_logprobs_put(struct baton_json_out *out, const struct gw_choice *choice);

/* The entries of the prompt, which come first. */
size_t gw_prompt_logprobs_n(const struct gw_logprobs *logprobs);

#endif
