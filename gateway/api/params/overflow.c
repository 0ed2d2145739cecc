#include "gateway/api/params/overflow.h"

#include <inttypes.h>

enum { COUNTED_TIMES = 4, COUNTED_TOKENS = 64 << 10 };

#define CODE "context_length_exceeded"

size_t gw_overflow_most_counted(size_t max_tokens)
{
    return max_tokens * COUNTED_TIMES + COUNTED_TOKENS;
}

/* Why a prompt may not have as many tokens as the model's context. */
static const char *reason_of(const struct gw_api *api)
{
    if (gw_fleet_prompt_tokens(api->fleet) < api->max_prompt_tokens)
        return ", which the workers' KV caches hold";
    return api->max_prompt_tokens < api->facts->n_context_tokens ? ", which are accepted here" : "";
}

static void set_numbers(struct gw_fields *fields, size_t n_prompt, int64_t n_ctx)
{
    fields->problem.n_prompt_tokens = (int64_t)n_prompt;
    fields->problem.n_ctx = n_ctx;
}

void gw_overflow_prompt(const struct gw_api *api, struct gw_fields *fields, const char *name,
                        size_t n_tokens, int64_t max_tokens)
{
    if (fields->failed)
        return;
    gw_fields_fail(
        fields, name, CODE,
        "%s: prompt is too long: %zu tokens > %" PRId64
        " maximum%s. The request (%zu tokens) exceeds the available context size (%" PRId64
        " tokens): the maximum context length is %" PRId64
        " tokens. Reduce the length of the messages (" CODE ").",
        name, n_tokens, max_tokens, reason_of(api), n_tokens, max_tokens, max_tokens);
    set_numbers(fields, n_tokens, max_tokens);
}

void gw_overflow_output(const struct gw_api *api, struct gw_fields *fields, const char *name,
                        size_t n_prompt, int64_t n_wanted)
{
    int64_t context = gw_fleet_context_tokens(api->fleet);
    bool is_model = context == api->facts->n_context_tokens;
    if (fields->failed)
        return;
    gw_fields_fail(fields, name, CODE,
                   "%s: input length and `max_tokens` exceed context limit: %zu + %" PRId64
                   " > %" PRId64 "%s. The maximum context length is %" PRId64 " tokens; %" PRId64
                   " are requested (" CODE ").",
                   name, n_prompt, n_wanted, context,
                   is_model ? "" : ", which the workers' KV caches hold", context,
                   (int64_t)n_prompt + n_wanted);
    set_numbers(fields, n_prompt, context);
}
