#include "gateway/api/routes/text.h"

#include <stdlib.h>

#include "engine/tokenizer/detokenizer.h"
#include "gateway/api/answer.h"

enum { MAX_TOKENS = 1 << 20, TEXT_MAX_BYTES = 256 << 20 };

static void put_tokens(struct baton_json_out *out, const struct baton_tokens *tokens)
{
    baton_json_open(out, "tokens", '[');
    for (size_t i = 0; i < tokens->n; i++)
        baton_json_put_uint(out, NULL, tokens->ids[i]);
    baton_json_close(out, ']');
}

/* Each token's own bytes. A token that is part of a character shows as U+FFFD. */
static void put_pieces(struct baton_json_out *out, const struct baton_tokenizer *tokenizer,
                       const struct baton_tokens *tokens)
{
    baton_json_open(out, "pieces", '[');
    for (size_t i = 0; i < tokens->n; i++) {
        size_t n;
        const char *bytes = baton_tokenizer_bytes(tokenizer, tokens->ids[i], &n);
        baton_json_put_text(out, NULL, bytes, n);
    }
    baton_json_close(out, ']');
}

static void answer_tokens(struct gw_exchange *exchange, const struct gw_api *api,
                          const struct baton_tokens *tokens)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    put_tokens(&answer.out, tokens);
    put_pieces(&answer.out, api->tokenizer, tokens);
    baton_json_put_uint(&answer.out, "count", tokens->n);
    gw_answer_close(&answer, exchange, 200);
}

static enum baton_err encode(const struct gw_api *api, const char *text, size_t n, bool add_special,
                             struct baton_tokens *tokens, struct baton_why *why)
{
    if (add_special)
        return baton_tokenizer_encode_prompt(api->tokenizer, text, n, MAX_TOKENS, tokens, why);
    return baton_tokenizer_encode(api->tokenizer, text, n, true, MAX_TOKENS, tokens, why);
}

void gw_tokenize(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_fields fields = gw_fields(body);
    struct baton_tokens tokens = {0};
    struct baton_why why = {""};
    fields.schema = api->schema;
    const struct baton_json *text = gw_field_of(&fields, "text", GW_IS_STRING, "a string");
    bool add_special = true;
    size_t n = 0;
    const char *bytes = baton_json_string(text, &n);
    gw_field_bool(&fields, "add_special_tokens", &add_special);
    gw_fields_refuse_unknown(&fields);
    if (!text)
        gw_fields_fail(&fields, "text", "missing_field", "text: must be a string");
    if (!fields.failed && encode(api, bytes, n, add_special, &tokens, &why))
        gw_fields_fail(&fields, "text", "invalid_value", "text: %s", why.text);
    if (fields.failed)
        gw_answer_problem(exchange, &fields.problem);
    else
        answer_tokens(exchange, api, &tokens);
    baton_tokens_fini(&tokens);
}

static void answer_text(struct gw_exchange *exchange, const struct gw_api *api, const uint32_t *ids,
                        size_t n_ids, bool skip_special)
{
    struct gw_answer answer;
    struct baton_buf text;
    baton_buf_init(&text, TEXT_MAX_BYTES);
    gw_answer_open(&answer);
    baton_detokenize(api->tokenizer, ids, n_ids, skip_special, &text);
    baton_json_put_text(&answer.out, "text", baton_buf_text(&text), text.len);
    gw_answer_close(&answer, exchange, 200);
    baton_buf_fini(&text);
}

void gw_detokenize(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_fields fields = gw_fields(body);
    fields.schema = api->schema;
    const struct baton_json *array =
        gw_field_of(&fields, "tokens", GW_IS_ARRAY, "an array of token ids");
    bool skip_special = false;
    size_t n = baton_json_size(array);
    uint32_t *ids = malloc((n ? n : 1) * sizeof *ids);
    gw_field_bool(&fields, "skip_special_tokens", &skip_special);
    gw_fields_refuse_unknown(&fields);
    if (!array)
        gw_fields_fail(&fields, "tokens", "missing_field", "tokens: must be an array of token ids");
    if (!ids)
        gw_fields_fail(&fields, "tokens", "out_of_memory", "tokens: no memory for them");
    n = gw_field_ids(&fields, "tokens", array, api->facts->n_vocab, MAX_TOKENS, ids);
    if (fields.failed)
        gw_answer_problem(exchange, &fields.problem);
    else
        answer_text(exchange, api, ids, n, skip_special);
    free(ids);
}
