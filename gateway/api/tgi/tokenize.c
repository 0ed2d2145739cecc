#include <string.h>

#include "common/base/utf8.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/openai/chat_body.h"
#include "gateway/api/openai/messages.h"
#include "gateway/api/tgi/generate.h"
#include "gateway/api/tgi/writer.h"

enum { MAX_TOKENS = 1 << 20, TEXT_MAX_BYTES = 256 << 20 };

/* Returns how many bytes of the rest of the text the token stands for. A tokenizer may put a space
 * before the text and tokens around it, which have no place in it. */
static size_t length_in(const char *rest, size_t n_rest, const char *bytes, size_t n,
                        bool is_special)
{
    if (n <= n_rest && !memcmp(rest, bytes, n))
        return n;
    if (n && *bytes == ' ' && n - 1 <= n_rest && !memcmp(rest, bytes + 1, n - 1))
        return n - 1;
    return is_special ? 0 : n < n_rest ? n : n_rest;
}

/* Writes the tokens, each with its text and its place in the whole text, in characters. */
static void put_tokens(struct baton_json_out *out, const struct baton_tokenizer *tokenizer,
                       const struct baton_tokens *tokens, const char *text, size_t n_text)
{
    size_t at = 0, n_chars = 0;
    for (size_t i = 0; i < tokens->n; i++) {
        size_t n = 0;
        const char *bytes = baton_tokenizer_bytes(tokenizer, tokens->ids[i], &n);
        bool is_special = baton_tokenizer_is_special(tokenizer, tokens->ids[i]);
        size_t length = length_in(text + at, n_text - at, bytes, n, is_special);
        baton_json_open(out, NULL, '{');
        baton_json_put_uint(out, "id", tokens->ids[i]);
        baton_json_put_text(out, "text", text + at, length);
        baton_json_put_uint(out, "start", n_chars);
        n_chars += baton_utf8_count(text + at, length);
        baton_json_put_uint(out, "stop", n_chars);
        baton_json_close(out, '}');
        at += length;
    }
}

static void put_chat(struct baton_json_out *out, const struct baton_tokenizer *tokenizer,
                     const struct baton_tokens *tokens)
{
    struct baton_buf text;
    baton_buf_init(&text, TEXT_MAX_BYTES);
    for (size_t i = 0; i < tokens->n; i++) {
        size_t n = 0;
        const char *bytes = baton_tokenizer_bytes(tokenizer, tokens->ids[i], &n);
        baton_buf_append(&text, bytes ? bytes : "", n);
    }
    baton_json_open(out, "tokenize_response", '[');
    put_tokens(out, tokenizer, tokens, baton_buf_text(&text), text.len);
    baton_json_close(out, ']');
    baton_json_put_text(out, "templated_text", baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
}

static void tokenize_chat(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct baton_chat_input input = {0};
    struct gw_tool_choice choice; /* has no effect on the prompt */
    struct baton_tokens tokens = {0};
    struct gw_answer answer;
    gw_builder_init(&builder, api, exchange, body, NULL);
    gw_params_read_model(api, &builder.fields, &builder.params.shared.adapters);
    gw_messages_read(&builder.fields, &input, &choice);
    gw_builder_end_fields(&builder);
    if (gw_prompts_encode_chat(api, &builder.fields, &input, SIZE_MAX, &tokens, NULL)) {
        gw_answer_problem(exchange, &builder.fields.problem);
    } else {
        gw_answer_open(&answer);
        put_chat(&answer.out, api->tokenizer, &tokens);
        gw_answer_close(&answer, exchange, 200);
    }
    baton_tokens_fini(&tokens);
    gw_builder_fini(&builder);
}

void gw_tgi_chat_tokenize(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body)
{
    struct gw_fields given = gw_fields(body);
    given.schema = api->schema;
    struct baton_json *made = gw_chat_body(&given);
    if (made)
        tokenize_chat(api, exchange, made);
    else
        gw_answer_problem(exchange, &given.problem);
    baton_json_free(made);
}

void gw_tgi_tokenize(const struct gw_api *api, struct baton_tokenizer *tokenizer,
                     const struct baton_json *body, struct gw_reply *reply)
{
    struct gw_fields fields = gw_fields(body);
    struct baton_tokens tokens = {0};
    struct baton_why why = {""};
    bool adds = true;
    size_t n = 0;
    const char *text =
        baton_json_string(gw_field_of(&fields, "inputs", GW_IS_STRING, "a string"), &n);
    if (!text)
        gw_fields_fail(&fields, "inputs", "invalid_type", "inputs: must be a string");
    gw_field_bool(&fields, "add_special_tokens", &adds);
    if (!fields.failed &&
        (adds ? baton_tokenizer_encode_prompt(tokenizer, text, n, MAX_TOKENS, &tokens, &why)
              : baton_tokenizer_encode(tokenizer, text, n, true, MAX_TOKENS, &tokens, &why)))
        gw_fields_fail(&fields, "inputs", "invalid_value", "inputs: %s", why.text);
    if (!fields.failed) {
        gw_answer_make_array(&reply->answer);
        put_tokens(&reply->answer.out, api->tokenizer, &tokens, text, n);
    }
    reply->errors = &gw_tgi_errors;
    reply->has_failed = fields.failed;
    reply->problem = fields.problem;
    baton_tokens_fini(&tokens);
}
