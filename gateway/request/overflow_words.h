/* The words of an error about a prompt that does not fit, by which agents know that they must
 * shorten a conversation: Anthropic's "prompt is too long: N tokens > M maximum", OpenAI's "maximum
 * context length is M tokens", llama.cpp's "exceeds the available context size" and their code
 * context_length_exceeded.
 *
 * Ownership: takes none.
 * Threading: any.
 * Errors:    none; a text that is too long is cut.
 */
#ifndef BATON_GATEWAY_REQUEST_OVERFLOW_WORDS_H
#define BATON_GATEWAY_REQUEST_OVERFLOW_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define GW_OVERFLOW_CODE "context_length_exceeded"

enum { GW_OVERFLOW_WORDS_BYTES = 360 };

/* Of n_prompt tokens at most n_ctx fit. reason follows the maximum: "" or ", which ...". */
void gw_overflow_prompt_words(char text[GW_OVERFLOW_WORDS_BYTES], size_t n_prompt, int64_t n_ctx,
                              const char *reason);

/* The prompt fits into n_ctx tokens, but not with n_wanted tokens of output. */
void gw_overflow_output_words(char text[GW_OVERFLOW_WORDS_BYTES], size_t n_prompt, int64_t n_wanted,
                              int64_t n_ctx, const char *reason);

#endif
