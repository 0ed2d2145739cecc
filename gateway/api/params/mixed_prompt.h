/* A prompt of token ids and texts in any order, as llama.cpp's clients write it: [1, "a", 2].
 *
 * Ownership: takes none; the caller frees the tokens.
 * Threading: loop thread.
 * Errors:    in fields->problem, which names the element.
 */
#ifndef BATON_GATEWAY_API_PARAMS_MIXED_PROMPT_H
#define BATON_GATEWAY_API_PARAMS_MIXED_PROMPT_H

#include "gateway/api/api.h"

/* Whether the array has numbers and strings. One of strings alone is a batch of prompts. */
bool gw_mixed_prompt_is(const struct baton_json *array);

/* Reads the array that name names. A text at its beginning gets the special tokens of a prompt. At
 * most `most` tokens are encoded: more are reported as one more than these. */
void gw_mixed_prompt_read(const struct gw_api *api, struct gw_fields *fields, const char *name,
                          const struct baton_json *array, size_t most, struct baton_tokens *tokens);

#endif
