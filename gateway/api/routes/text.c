#include "gateway/api/routes/text.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/array.h"
#include "engine/tokenizer/detokenizer.h"
#include "gateway/api/answer.h"
#include "gateway/api/params/params.h"

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

static enum baton_err encode(struct baton_tokenizer *tokenizer, const char *text, size_t n,
                             bool add_special, struct baton_tokens *tokens, struct baton_why *why)
{
    if (add_special)
        return baton_tokenizer_encode_prompt(tokenizer, text, n, MAX_TOKENS, tokens, why);
    return baton_tokenizer_encode(tokenizer, text, n, true, MAX_TOKENS, tokens, why);
}

static void put_text(struct gw_reply *reply, const struct baton_tokenizer *tokenizer,
                     const struct baton_tokens *tokens)
{
    struct baton_json_out *out = &reply->answer.out;
    put_tokens(out, tokens);
    put_pieces(out, tokenizer, tokens);
    baton_json_put_uint(out, "count", tokens->n);
}

static void end_fields(struct gw_fields *fields, struct gw_reply *reply)
{
    reply->has_failed = fields->failed;
    reply->problem = fields->problem;
}

/* The names of llama.cpp and vLLM. */
static const struct gw_alias aliases[] = {
    {"text", "content"}, {"text", "prompt"}, {"add_special_tokens", "add_special"}};
static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = BATON_N_OF(aliases)};

static void tokenize(const struct gw_api *api, struct baton_tokenizer *tokenizer,
                     const struct baton_json *body, struct gw_reply *reply)
{
    struct gw_fields fields = gw_fields(body);
    struct baton_tokens tokens = {0};
    struct baton_why why = {""};
    fields.schema = api->schema;
    fields.dialect = &dialect;
    const struct baton_json *text = gw_field_of(&fields, "text", GW_IS_STRING, "a string");
    bool add_special = !baton_json_get(body, "content"); /* llama.cpp's default is false */
    gw_params_read_model(api, &fields);
    size_t n = 0;
    const char *bytes = baton_json_string(text, &n);
    gw_field_bool(&fields, "add_special_tokens", &add_special);
    gw_fields_refuse_unknown(&fields);
    if (!text)
        gw_fields_fail(&fields, "text", "missing_field", "text: must be a string");
    if (!fields.failed && encode(tokenizer, bytes, n, add_special, &tokens, &why))
        gw_fields_fail(&fields, "text", "invalid_value", "text: %s", why.text);
    if (!fields.failed)
        put_text(reply, tokenizer, &tokens);
    end_fields(&fields, reply);
    baton_tokens_fini(&tokens);
}

void gw_tokenize(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_reply reply;
    gw_answer_open(&reply.answer);
    tokenize(api, api->tokenizer, body, &reply);
    gw_reply_send(&reply, exchange);
}

void gw_tokenize_on_pool(struct gw_api *api, const struct baton_json *body, struct gw_reply *reply)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&one_at_a_time);
    tokenize(api, api->pool_tokenizer, body, reply);
    (void)pthread_mutex_unlock(&one_at_a_time);
}

static void put_detokenized(struct gw_reply *reply, const struct gw_api *api, const uint32_t *ids,
                            size_t n_ids, bool skip_special)
{
    static const char *const names[] = {"text", "content", "prompt"};
    struct baton_buf text;
    baton_buf_init(&text, TEXT_MAX_BYTES);
    baton_detokenize(api->tokenizer, ids, n_ids, skip_special, &text);
    for (size_t i = 0; i < BATON_N_OF(names); i++)
        baton_json_put_text(&reply->answer.out, names[i], baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
}

void gw_detokenize_on_pool(struct gw_api *api, const struct baton_json *body,
                           struct gw_reply *reply)
{
    struct gw_fields fields = gw_fields(body);
    fields.schema = api->schema;
    gw_params_read_model(api, &fields);
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
    if (!fields.failed)
        put_detokenized(reply, api, ids, n, skip_special);
    end_fields(&fields, reply);
    free(ids);
}

void gw_detokenize(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_reply reply;
    gw_answer_open(&reply.answer);
    gw_detokenize_on_pool(api, body, &reply);
    gw_reply_send(&reply, exchange);
}
