#include "gateway/api/openai/prompt_logprobs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

bool gw_prompt_logprobs_read(struct gw_completion_builder *builder)
{
    struct gw_params *params = &builder->params.shared;
    struct baton_sampling_params *sampling = &params->sampling;
    int64_t n = -1;
    gw_field_int(&builder->fields, "prompt_logprobs", 0, BATON_MAX_LISTED, &n);
    if (n < 0)
        return false;
    if (builder->options.streaming)
        gw_fields_fail(&builder->fields, "prompt_logprobs", "invalid_value",
                       "prompt_logprobs: is not available for a stream");
    params->prompt_logprobs = true;
    if (n > (int64_t)sampling->top_logprobs) {
        builder->options.n_hidden_tops = (int)n - (int)sampling->top_logprobs;
        sampling->top_logprobs = (uint32_t)n;
    }
    return true;
}

size_t gw_prompt_logprobs_n(const struct gw_logprobs *logprobs)
{
    size_t n = 0;
    while (n < logprobs->n && logprobs->entries[n].of_prompt)
        n++;
    return n;
}

/* rank 0: the worker has an earlier version, which does not tell it. */
static void put_scored(struct baton_json_out *out, const struct baton_tokenizer *tokenizer,
                       const struct gw_logprob *scored, uint32_t rank)
{
    char key[16];
    size_t n = 0;
    const char *bytes = baton_tokenizer_bytes(tokenizer, scored->token, &n);
    (void)snprintf(key, sizeof key, "%" PRIu32, scored->token);
    baton_json_open(out, key, '{');
    baton_json_put_real(out, "logprob", scored->logprob);
    if (rank)
        baton_json_put_uint(out, "rank", rank);
    else
        baton_json_put_null(out, "rank");
    baton_json_put_text(out, "decoded_token", bytes ? bytes : "", n);
    baton_json_close(out, '}');
}

static void put_entry(struct baton_json_out *out, const struct gw_choice *choice, size_t at)
{
    const struct baton_tokenizer *tokenizer = choice->completion->api->tokenizer;
    const struct gw_logprob_entry *entry = &choice->logprobs.entries[at];
    const struct gw_logprob *tops = gw_logprobs_tops(&choice->logprobs, at);
    bool is_listed = false;
    if (isnan(entry->self.logprob)) {
        baton_json_put_null(out, NULL);
        return;
    }
    baton_json_open(out, NULL, '{');
    for (int i = 0; i < entry->n_top; i++) {
        is_listed |= tops[i].token == entry->self.token;
        put_scored(out, tokenizer, &tops[i], (uint32_t)i + 1);
    }
    if (!is_listed)
        put_scored(out, tokenizer, &entry->self, entry->rank);
    baton_json_close(out, '}');
}

void gw_prompt_logprobs_put(struct baton_json_out *out, const struct gw_choice *choice)
{
    size_t n = gw_prompt_logprobs_n(&choice->logprobs);
    baton_json_open(out, "prompt_logprobs", '[');
    for (size_t i = 0; i < n; i++)
        put_entry(out, choice, i);
    if (!n) /* a prompt of one token has none to score */
        baton_json_put_null(out, NULL);
    baton_json_close(out, ']');
}
