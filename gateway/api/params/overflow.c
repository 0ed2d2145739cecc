#include "gateway/api/params/overflow.h"

#include "gateway/request/overflow_words.h"

enum { COUNTED_TIMES = 4, COUNTED_TOKENS = 64 << 10 };

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
    char words[GW_OVERFLOW_WORDS_BYTES];
    if (fields->failed)
        return;
    gw_overflow_prompt_words(words, n_tokens, max_tokens, reason_of(api));
    gw_fields_fail(fields, name, GW_OVERFLOW_CODE, "%s: %s", name, words);
    set_numbers(fields, n_tokens, max_tokens);
}

void gw_overflow_output(const struct gw_api *api, struct gw_fields *fields, const char *name,
                        size_t n_prompt, int64_t n_wanted)
{
    int64_t context = gw_fleet_context_tokens(api->fleet);
    bool is_model = context == api->facts->n_context_tokens;
    char words[GW_OVERFLOW_WORDS_BYTES];
    if (fields->failed)
        return;
    gw_overflow_output_words(words, n_prompt, n_wanted, context,
                             is_model ? "" : ", which the workers' KV caches hold");
    gw_fields_fail(fields, name, GW_OVERFLOW_CODE, "%s: %s", name, words);
    set_numbers(fields, n_prompt, context);
}
