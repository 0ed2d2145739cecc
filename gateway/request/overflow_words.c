#include "gateway/request/overflow_words.h"

#include <inttypes.h>
#include <stdio.h>

void gw_overflow_prompt_words(char text[GW_OVERFLOW_WORDS_BYTES], size_t n_prompt, int64_t n_ctx,
                              const char *reason)
{
    (void)snprintf(text, GW_OVERFLOW_WORDS_BYTES,
                   "prompt is too long: %zu tokens > %" PRId64
                   " maximum%s. The request (%zu tokens) exceeds the available context size "
                   "(%" PRId64 " tokens): the maximum context length is %" PRId64
                   " tokens. Reduce the length of the messages (" GW_OVERFLOW_CODE ").",
                   n_prompt, n_ctx, reason, n_prompt, n_ctx, n_ctx);
}

void gw_overflow_output_words(char text[GW_OVERFLOW_WORDS_BYTES], size_t n_prompt, int64_t n_wanted,
                              int64_t n_ctx, const char *reason)
{
    (void)snprintf(text, GW_OVERFLOW_WORDS_BYTES,
                   "input length and `max_tokens` exceed context limit: %zu + %" PRId64
                   " > %" PRId64 "%s. The maximum context length is %" PRId64 " tokens; %" PRId64
                   " are requested (" GW_OVERFLOW_CODE ").",
                   n_prompt, n_wanted, n_ctx, reason, n_ctx, (int64_t)n_prompt + n_wanted);
}
