/* Errors of prompts that do not fit, in the words and with the numbers that agents match before
 * they shorten a conversation: Anthropic's "prompt is too long: N tokens > M maximum", OpenAI's
 * "maximum context length is M tokens", llama.cpp's "exceeds the available context size" and their
 * code context_length_exceeded.
 *
 * Ownership: takes none.
 * Threading: loop thread.
 * Errors:    the problem is the fields' first one, or none.
 */
#ifndef BATON_GATEWAY_API_PARAMS_OVERFLOW_H
#define BATON_GATEWAY_API_PARAMS_OVERFLOW_H

#include "gateway/api/api.h"

/* The most tokens that are counted of a prompt which may have max_tokens, so that its length costs
 * a bounded time. A longer one is reported with one more than these. */
size_t gw_overflow_most_counted(size_t max_tokens);

/* The prompt in the field name has n_tokens, of which at most max_tokens fit. */
void gw_overflow_prompt(const struct gw_api *api, struct gw_fields *fields, const char *name,
                        size_t n_tokens, int64_t max_tokens);

/* The prompt of n_prompt tokens fits, but not with the n_wanted tokens that the field name asks
 * for. */
void gw_overflow_output(const struct gw_api *api, struct gw_fields *fields, const char *name,
                        size_t n_prompt, int64_t n_wanted);

#endif
