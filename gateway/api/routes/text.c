#include "gateway/api/routes/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "engine/tokenizer/detokenizer.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/openai/chat_body.h"
#include "gateway/api/openai/messages.h"
#include "gateway/api/params/adapters.h"
#include "gateway/api/tgi/generate.h"

enum { MAX_TOKENS = 1 << 20, TEXT_MAX_BYTES = 256 << 20 };

/* What clients of llama.cpp and vLLM ask of the answer, and how the text is read. */
struct wishes {
    bool with_pieces, token_strs; /* llama.cpp's form of tokens; vLLM's member */
    bool add_special, parse_special;
};

/* llama.cpp writes a token that is only a part of a character as its bytes. */
static void put_piece(struct baton_json_out *out, const char *bytes, size_t n)
{
    if (baton_utf8_valid(bytes, n)) {
        baton_json_put_text(out, "piece", bytes, n);
        return;
    }
    baton_json_open(out, "piece", '[');
    for (size_t i = 0; i < n; i++)
        baton_json_put_uint(out, NULL, (unsigned char)bytes[i]);
    baton_json_close(out, ']');
}

static void put_tokens(struct baton_json_out *out, const struct baton_tokenizer *tokenizer,
                       const struct baton_tokens *tokens, bool with_pieces)
{
    baton_json_open(out, "tokens", '[');
    for (size_t i = 0; i < tokens->n; i++) {
        size_t n;
        const char *bytes = baton_tokenizer_bytes(tokenizer, tokens->ids[i], &n);
        if (with_pieces)
            baton_json_open(out, NULL, '{');
        baton_json_put_uint(out, with_pieces ? "id" : NULL, tokens->ids[i]);
        if (with_pieces) {
            put_piece(out, bytes, n);
            baton_json_close(out, '}');
        }
    }
    baton_json_close(out, ']');
}

/* Each token's own bytes. A token that is part of a character shows as U+FFFD. */
static void put_pieces(struct baton_json_out *out, const char *key,
                       const struct baton_tokenizer *tokenizer, const struct baton_tokens *tokens)
{
    baton_json_open(out, key, '[');
    for (size_t i = 0; i < tokens->n; i++) {
        size_t n;
        const char *bytes = baton_tokenizer_bytes(tokenizer, tokens->ids[i], &n);
        baton_json_put_text(out, NULL, bytes, n);
    }
    baton_json_close(out, ']');
}

static enum baton_err encode(struct baton_tokenizer *tokenizer, const char *text, size_t n,
                             const struct wishes *wishes, struct baton_tokens *tokens,
                             struct baton_why *why)
{
    if (wishes->add_special)
        return baton_tokenizer_encode_prompt(tokenizer, text, n, MAX_TOKENS, tokens, why);
    return baton_tokenizer_encode(tokenizer, text, n, wishes->parse_special, MAX_TOKENS, tokens,
                                  why);
}

static void put_answer(struct baton_json_out *out, const struct gw_api *api,
                       const struct baton_tokens *tokens, const struct wishes *wishes)
{
    put_tokens(out, api->tokenizer, tokens, wishes->with_pieces);
    put_pieces(out, "pieces", api->tokenizer, tokens);
    if (wishes->token_strs)
        put_pieces(out, "token_strs", api->tokenizer, tokens);
    baton_json_put_uint(out, "count", tokens->n);
    baton_json_put_int(out, "max_model_len", api->facts->n_context_tokens);
}

static void end_fields(struct gw_fields *fields, struct gw_reply *reply)
{
    reply->has_failed = fields->failed;
    reply->problem = fields->problem;
}

/* Reads "model". Adapters share the tokenizer of their model; only the loop knows the names. */
static void read_model(struct gw_fields *fields, struct gw_reply *reply)
{
    const char *name =
        baton_json_string(gw_field_of(fields, "model", GW_IS_STRING, "a string"), NULL);
    if (name)
        (void)snprintf(reply->model, sizeof reply->model, "%s", *name ? name : "?");
}

void gw_text_check_model(const struct gw_api *api, struct gw_reply *reply)
{
    if (reply->has_failed || !*reply->model || gw_model_names_has(api->names, reply->model) ||
        gw_adapters_named(api, reply->model, NULL))
        return;
    reply->has_failed = true;
    gw_params_refuse_model(api, reply->model, &reply->problem);
}

/* The names of llama.cpp and vLLM. */
static const struct gw_alias aliases[] = {
    {"text", "content"}, {"text", "prompt"}, {"add_special_tokens", "add_special"}};
static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = BATON_N_OF(aliases)};

static const struct baton_json *read_text(struct gw_fields *fields, struct wishes *wishes)
{
    const struct baton_json *text = gw_field_of(fields, "text", GW_IS_STRING, "a string");
    *wishes = (struct wishes){.parse_special = true};
    wishes->add_special =
        !baton_json_get(fields->body, "content"); /* llama.cpp's default is false */
    gw_field_bool(fields, "add_special_tokens", &wishes->add_special);
    gw_field_bool(fields, "parse_special", &wishes->parse_special);
    gw_field_bool(fields, "with_pieces", &wishes->with_pieces);
    gw_field_bool(fields, "return_token_strs", &wishes->token_strs);
    if (wishes->add_special && !wishes->parse_special)
        gw_fields_fail(fields, "parse_special", "unsupported_field",
                       "parse_special: false is only supported with add_special_tokens: false");
    return text;
}

static void tokenize(const struct gw_api *api, struct baton_tokenizer *tokenizer,
                     const struct baton_json *body, struct gw_reply *reply)
{
    struct gw_fields fields = gw_fields(body);
    struct baton_tokens tokens = {0};
    struct baton_why why = {""};
    struct wishes wishes;
    fields.schema = api->schema;
    fields.dialect = &dialect;
    const struct baton_json *text = read_text(&fields, &wishes);
    read_model(&fields, reply);
    size_t n = 0;
    const char *bytes = baton_json_string(text, &n);
    gw_fields_refuse_unknown(&fields);
    if (!text)
        gw_fields_fail(&fields, "text", "missing_field", "text: must be a string");
    if (!fields.failed && encode(tokenizer, bytes, n, &wishes, &tokens, &why))
        gw_fields_fail(&fields, "text", "invalid_value", "text: %s", why.text);
    if (!fields.failed)
        put_answer(&reply->answer.out, api, &tokens, &wishes);
    end_fields(&fields, reply);
    baton_tokens_fini(&tokens);
}

/* vLLM's body with a conversation. */
static void tokenize_chat(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct gw_fields *fields = &builder.fields;
    struct baton_chat_input input = {0};
    struct gw_tool_choice choice; /* has no effect on the prompt */
    struct baton_tokens tokens = {0};
    struct wishes wishes = {0};
    struct gw_answer answer;
    gw_builder_init(&builder, api, exchange, body, NULL);
    gw_params_read_model(api, fields, &builder.params.shared.adapters);
    gw_messages_read(fields, &input, &choice);
    gw_field_bool(fields, "return_token_strs", &wishes.token_strs);
    gw_field_bool(fields, "add_special_tokens", &wishes.add_special);
    if (wishes.add_special)
        gw_fields_fail(fields, "add_special_tokens", "unsupported_field",
                       "add_special_tokens: the template writes them; only false is supported");
    gw_builder_end_fields(&builder);
    if (gw_prompts_encode_chat(api, fields, &input, MAX_TOKENS, &tokens, NULL)) {
        gw_answer_problem(exchange, &fields->problem);
    } else {
        gw_answer_open(&answer);
        put_answer(&answer.out, api, &tokens, &wishes);
        gw_answer_close(&answer, exchange, 200);
    }
    baton_tokens_fini(&tokens);
    gw_builder_fini(&builder);
}

static bool is_chat(const struct baton_json *body)
{
    return baton_json_kind(baton_json_get(body, "messages")) != BATON_JSON_NULL;
}

/* Answers a body of any other form. */
static void tokenize_text(struct gw_api *api, struct baton_tokenizer *tokenizer,
                          const struct baton_json *body, struct gw_reply *reply)
{
    if (gw_tgi_is_body(body))
        gw_tgi_tokenize(api, tokenizer, body, reply);
    else
        tokenize(api, tokenizer, body, reply);
}

void gw_tokenize(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_reply reply = {0};
    if (is_chat(body)) {
        struct gw_fields given = gw_fields(body);
        struct baton_json *made = gw_chat_body(&given);
        if (made)
            tokenize_chat(api, exchange, made);
        else
            gw_answer_problem(exchange, &given.problem);
        baton_json_free(made);
        return;
    }
    gw_answer_open(&reply.answer);
    tokenize_text(api, api->tokenizer, body, &reply);
    gw_text_check_model(api, &reply);
    gw_reply_send(&reply, exchange);
}

bool gw_tokenize_on_pool(struct gw_api *api, const struct baton_json *body, struct gw_reply *reply)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    if (is_chat(body))
        return false; /* only the loop renders templates */
    (void)pthread_mutex_lock(&one_at_a_time);
    tokenize_text(api, api->pool_tokenizer, body, reply);
    (void)pthread_mutex_unlock(&one_at_a_time);
    return true;
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

bool gw_detokenize_on_pool(struct gw_api *api, const struct baton_json *body,
                           struct gw_reply *reply)
{
    struct gw_fields fields = gw_fields(body);
    fields.schema = api->schema;
    read_model(&fields, reply);
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
    return true;
}

void gw_detokenize(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_reply reply = {0};
    gw_answer_open(&reply.answer);
    (void)gw_detokenize_on_pool(api, body, &reply);
    gw_text_check_model(api, &reply);
    gw_reply_send(&reply, exchange);
}
