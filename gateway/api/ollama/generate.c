#include "gateway/api/ollama/generate.h"

#include "common/base/array.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/ollama/body.h"
#include "gateway/api/ollama/writer.h"
#include "gateway/api/openai/messages.h"
#include "gateway/api/params/grammar.h"
#include "gateway/api/params/thinking.h"

static const struct gw_alias aliases[] = {{"repetition_penalty", "repeat_penalty"}};
static const char *const off_at_minus_one[] = {"top_k", "seed"};
static const struct gw_dialect dialect = {
    .aliases = aliases,
    .n_aliases = BATON_N_OF(aliases),
    .off_at_minus_one = off_at_minus_one,
    .n_off = BATON_N_OF(off_at_minus_one),
};

static const char *const unsupported[] = {"images", "template"};
static const char *const only_of_generate[] = {"suffix"};

enum { KEPT_TOKENS = 4 }; /* Ollama's default of num_keep */

/* ---- fields of both routes ---- */

/* The fields of a route besides its prompt. */
struct fields {
    struct gw_ollama_options options;
    int64_t n_predict;            /* 0: not given */
    struct baton_chat_input wish; /* of generate: whether to reason */
};

/* Reads how a prompt that is too long is shortened, after num_predict. */
static void read_truncation(struct gw_completion_builder *builder, int64_t n_predict)
{
    struct gw_shortening *shortening = &builder->prompts.shortening;
    int64_t n_keep = KEPT_TOKENS;
    bool shift = false;
    shortening->wanted = true;
    shortening->n_answer = n_predict;
    gw_field_bool(&builder->fields, "truncate", &shortening->wanted);
    gw_field_int(&builder->fields, "num_keep", -1, INT32_MAX, &n_keep);
    gw_field_bool(&builder->fields, "shift", &shift);
    if (shift)
        gw_fields_fail(&builder->fields, "shift", "unsupported_field",
                       "shift: is not supported, because keys that are moved to other positions "
                       "are no longer those that the model computes; truncate shortens the prompt");
    shortening->n_keep = n_keep < 0 ? SIZE_MAX : (size_t)n_keep;
}

/* Reads the fields of both routes. Ollama's num_predict -1 and -2 mean as many as fit, as 0
 * does. */
static void read_shared(struct gw_completion_builder *builder, struct fields *own)
{
    struct gw_fields *fields = &builder->fields;
    builder->options.streaming = true;
    builder->options.own = &own->options;
    gw_params_read_model(builder->api, fields, &builder->params.shared.adapters);
    gw_ollama_read_options(fields);
    gw_params_read(builder->api, fields, &builder->params);
    gw_grammar_read_format(fields, &builder->params.shared);
    gw_params_read_logprobs(fields, &builder->params.shared.sampling);
    gw_field_bool(fields, "stream", &builder->options.streaming);
    gw_field_int(fields, "num_predict", -2, gw_builder_max_tokens(builder->api), &own->n_predict);
    own->n_predict = own->n_predict < 0 ? 0 : own->n_predict;
    read_truncation(builder, own->n_predict);
    (void)gw_field(fields, "keep_alive"); /* no effect: the model is always loaded */
    gw_fields_refuse(fields, unsupported, BATON_N_OF(unsupported));
    if (own->options.chat)
        gw_fields_refuse(fields, only_of_generate, BATON_N_OF(only_of_generate));
}

/* Answers a request without a text, by which clients load or unload the model. It is always
 * loaded. */
static void answer_load(struct gw_completion_builder *builder, const struct fields *own)
{
    const struct baton_json *keep = baton_json_get(builder->fields.body, "keep_alive");
    int64_t kept_s;
    bool unloads = baton_json_whole(keep, &kept_s) && !kept_s;
    gw_ollama_answer_load(builder->api, builder->exchange, own->options.chat, unloads);
    gw_builder_fini(builder);
}

static void start(struct gw_completion_builder *builder, const struct fields *own)
{
    gw_builder_extract_reasoning(builder);
    gw_builder_start(builder, &gw_ollama_writer, "num_predict", own->n_predict,
                     builder->api->facts->n_context_tokens);
}

/* ---- generate ---- */

static bool is_given(const struct baton_json *text)
{
    return text && !baton_json_is(text, "");
}

static bool push_message(struct baton_json *messages, const char *role,
                         const struct baton_json *content)
{
    struct baton_json *message = baton_json_new_object();
    bool ok = baton_json_set(message, "role", baton_json_new_string(role)) &&
              baton_json_set(message, "content", baton_json_share(content));
    return baton_json_push(messages, message) && ok;
}

/* Sets the prompt as the message of a user. */
static void take_turn(struct gw_completion_builder *builder, const struct fields *own,
                      const struct baton_json *system, const struct baton_json *prompt)
{
    struct baton_json *messages = baton_json_new_array();
    bool ok = (!is_given(system) || push_message(messages, "system", system)) &&
              push_message(messages, "user", prompt);
    struct baton_chat_input input = own->wish;
    input.messages = messages;
    if (!ok)
        gw_fields_fail(&builder->fields, "prompt", "out_of_memory", "prompt: no memory for it");
    gw_builder_set_chat(builder, &input);
    baton_json_free(messages);
}

/* Reads "suffix": the model writes what stands between prompt and suffix, without its template. */
static void read_suffix(struct gw_completion_builder *builder, bool raw,
                        const struct baton_json *system)
{
    struct gw_fields *fields = &builder->fields;
    struct baton_why why;
    const struct baton_json *suffix = baton_json_get(fields->body, "suffix");
    if (is_given(suffix) && baton_fim_lacks(builder->api->fim, &why)) /* in Ollama's words */
        gw_fields_fail(fields, "suffix", "unsupported_field",
                       "suffix: %.128s does not support insert", builder->api->names->list[0]);
    gw_prompts_read_suffix(builder->api, fields, &builder->prompts);
    if (!builder->prompts.suffix)
        return;
    if (raw || is_given(system))
        gw_fields_fail(fields, raw ? "raw" : "system", "invalid_value",
                       "%s: not together with suffix", raw ? "raw" : "system");
    gw_builder_add_fim_stops(builder);
}

/* Sets the prompt. A model without a chat template continues it as plain text, raw or not. */
static void take_prompt(struct gw_completion_builder *builder, const struct fields *own, bool raw,
                        const struct baton_json *system, const struct baton_json *prompt)
{
    struct gw_fields *fields = &builder->fields;
    bool plain = raw || builder->prompts.suffix || baton_chat_problem(builder->api->chat);
    if (plain && is_given(system))
        gw_fields_fail(fields, "system", raw ? "invalid_value" : "no_chat_template", "system: %s",
                       raw ? "not together with raw" : baton_chat_problem(builder->api->chat));
    if (fields->failed)
        return;
    if (plain)
        gw_prompts_read(builder->api, fields, GW_BATCH_NONE, 1, &builder->prompts);
    else
        take_turn(builder, own, system, prompt);
}

static void generate(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct fields own = {0};
    bool raw = false;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    read_shared(&builder, &own);
    gw_field_bool(&builder.fields, "raw", &raw);
    gw_thinking_read_think(&builder.fields, &own.wish);
    gw_thinking_read_bounds(&builder.fields, &own.wish);
    if (raw || is_given(baton_json_get(body, "suffix")) || baton_chat_problem(api->chat))
        gw_thinking_refuse_bounds(&builder.fields);
    const struct baton_json *system =
        gw_field_of(&builder.fields, "system", GW_IS_STRING, "a string");
    const struct baton_json *prompt =
        gw_field_of(&builder.fields, "prompt", GW_IS_STRING, "a string");
    const struct baton_json *context = gw_field(&builder.fields, "context");
    read_suffix(&builder, raw, system);
    gw_builder_end_fields(&builder);
    own.options.has_context = !raw && !builder.prompts.suffix;
    if (!own.options.has_context && baton_json_size(context))
        gw_fields_fail(&builder.fields, "context", "invalid_value", "context: not together with %s",
                       raw ? "raw" : "suffix");
    if (!builder.fields.failed && !is_given(prompt) && !builder.prompts.suffix) {
        answer_load(&builder, &own);
    } else {
        take_prompt(&builder, &own, raw, system, prompt);
        gw_prompts_put_before(api, &builder.fields, "context", &builder.prompts);
        start(&builder, &own);
    }
}

/* ---- chat ---- */

static void chat(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct fields own = {.options.chat = true};
    struct baton_chat_input input = {0};
    struct gw_tool_choice choice = {0};
    const struct baton_json *messages = baton_json_get(body, "messages");
    bool empty = baton_json_kind(messages) == BATON_JSON_NULL ||
                 (baton_json_kind(messages) == BATON_JSON_ARRAY && !baton_json_size(messages));
    gw_builder_init(&builder, api, exchange, body, &dialect);
    read_shared(&builder, &own);
    if (empty && !api->schema) /* a schema records the fields of messages too */
        (void)gw_field(&builder.fields, "messages");
    else
        gw_messages_read(&builder.fields, &input, &choice);
    gw_field_may_be_absent(&builder.fields, "messages");
    gw_thinking_read_think(&builder.fields, &input);
    gw_builder_end_fields(&builder);
    if (empty && !builder.fields.failed) {
        answer_load(&builder, &own);
    } else {
        gw_builder_set_chat(&builder, &input);
        gw_builder_extract_tools(&builder);
        gw_builder_extract_reasoning(&builder);
        gw_builder_constrain_tools(&builder, input.tools, &choice);
        start(&builder, &own);
    }
}

/* ---- the routes ---- */

static void run(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                gw_endpoint endpoint)
{
    struct baton_json *own = gw_ollama_body(api, body);
    if (own)
        endpoint(api, exchange, own);
    else
        gw_answer_error(exchange, 503, "overloaded", "no memory for the request");
    baton_json_free(own);
}

void gw_ollama_generate(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body)
{
    run(api, exchange, body, generate);
}

void gw_ollama_chat(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    run(api, exchange, body, chat);
}
