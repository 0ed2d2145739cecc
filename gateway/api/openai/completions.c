#include "gateway/api/openai/completions.h"

#include <stdio.h>

#include "common/base/array.h"
#include "gateway/api/completion/tool_choice.h"
#include "gateway/api/openai/chat_body.h"
#include "gateway/api/openai/messages.h"
#include "gateway/api/openai/prompt_logprobs.h"
#include "gateway/api/openai/writer.h"
#include "gateway/api/params/thinking.h"

enum { COMPLETION_NEW_TOKENS = 16 };

/* ---- OpenAI's fields without an effect on tokens ---- */

static const char *const ignored[] = {"user", "store", "metadata", "prompt_cache_key",
                                      "safety_identifier"};

static const char *const unsupported[] = {"modalities", "audio", "web_search_options"};
static const char *const only_of_completions[] = {"suffix"};

/* Fields for the chat template, which a plain prompt does not use. */
static const char *const only_of_chat[] = {"tools",         "tool_choice",      "functions",
                                           "function_call", "reasoning_effort", "reasoning_format"};

/* The names of llama.cpp, Ollama, vLLM, TGI and Mistral for fields of these routes. */
static const struct gw_alias aliases[] = {
    {"repetition_penalty", "repeat_penalty"},
    {"max_tokens", "n_predict"},
    {"max_tokens", "num_predict"},
    {"max_tokens", "max_new_tokens"},
    {"max_tokens", "max_output_tokens"},
    {"stop", "stop_sequences"},
    {"seed", "random_seed"},
};
static const char *const off_at_minus_one[] = {"top_k", "seed", "max_tokens",
                                               "max_completion_tokens"};

static const struct gw_dialect dialect = {
    .aliases = aliases,
    .n_aliases = BATON_N_OF(aliases),
    .off_at_minus_one = off_at_minus_one,
    .n_off = BATON_N_OF(off_at_minus_one),
};

/* Reads vLLM's fields of answers. */
static void read_of_vllm(struct gw_completion_builder *builder, struct gw_openai_options *own)
{
    struct gw_fields *fields = &builder->fields;
    const struct baton_json *given = gw_field_of(fields, "request_id", GW_IS_STRING, "a string");
    const char *id = baton_json_string(given, NULL);
    gw_field_bool(fields, "include_stop_str_in_output", &builder->options.shows_stop);
    gw_field_bool(fields, "return_token_ids", &own->token_ids);
    if (id && !baton_is_client_id(id))
        gw_fields_fail(fields, "request_id", "invalid_value",
                       "request_id: must have 1 to %d visible ASCII characters but quotes",
                       BATON_CLIENT_ID_BYTES);
    else if (id)
        (void)snprintf(builder->options.id, sizeof builder->options.id, "%s", id);
}

static void read_rest(struct gw_completion_builder *builder, bool is_chat)
{
    struct gw_openai_options *own = builder->options.own;
    struct gw_fields *fields = &builder->fields;
    int64_t best_of = builder->options.n;
    for (size_t i = 0; i < BATON_N_OF(ignored); i++)
        (void)gw_field(fields, ignored[i]);
    gw_params_read_tier(fields, &builder->params.shared.priority);
    gw_fields_refuse(fields, unsupported, BATON_N_OF(unsupported));
    if (is_chat) {
        gw_fields_refuse(fields, only_of_completions, BATON_N_OF(only_of_completions));
    } else {
        gw_fields_refuse(fields, only_of_chat, BATON_N_OF(only_of_chat));
        gw_thinking_refuse_bounds(fields);
    }
    gw_field_int(fields, "best_of", 1, INT32_MAX, &best_of);
    if (best_of != builder->options.n)
        gw_fields_fail(fields, "best_of", "unsupported_field",
                       "best_of: is not supported, except with the value of n");
    read_of_vllm(builder, own);
    own->is_flex = builder->params.shared.priority == BATON_PRIORITY_BATCH;
    gw_builder_end_fields(builder);
}

/* ---- fields that both routes share ---- */

static void read_stream(struct gw_completion_builder *builder, struct gw_openai_options *own)
{
    struct gw_fields *fields = &builder->fields;
    struct gw_completion_options *options = &builder->options;
    gw_field_bool(fields, "stream", &options->streaming);
    gw_field_bool(fields, "timings_per_token", &options->timings_per_token);
    gw_builder_read_progress(builder);
    const struct baton_json *value =
        gw_field_of(fields, "stream_options", GW_IS_OBJECT, "an object {\"include_usage\": bool}");
    if (baton_json_size(value) && !options->streaming)
        gw_fields_fail(fields, "stream_options", "invalid_value",
                       "stream_options: only together with stream: true");
    struct gw_fields members = gw_fields_enter(fields, "stream_options", value);
    gw_field_bool(&members, "include_usage", &own->include_usage);
    gw_field_bool(&members, "continuous_usage_stats", &own->each_usage);
    own->each_usage &= own->include_usage;
    gw_fields_leave(fields, "stream_options", &members);
}

static void read_n(const struct gw_api *api, struct gw_fields *fields,
                   struct gw_completion_options *options)
{
    int64_t n = 1;
    gw_field_int(fields, "n", 1, api->max_batch, &n);
    options->n = (int)n;
}

/* ---- completions ---- */

static void read_completion_logprobs(struct gw_fields *fields,
                                     const struct gw_completion_options *options,
                                     struct gw_params *params)
{
    int64_t n = -1;
    if (baton_json_kind(baton_json_get(fields->body, "logprobs")) == BATON_JSON_BOOL &&
        !baton_json_bool(baton_json_get(fields->body, "logprobs")))
        (void)gw_field(fields, "logprobs"); /* asks for none */
    else
        gw_field_int(fields, "logprobs", 0, BATON_MAX_LISTED, &n);
    params->sampling.logprobs = n >= 0;
    params->sampling.top_logprobs = n > 0 ? (uint32_t)n : 0;
    params->prompt_logprobs = n >= 0 && options->echo;
}

/* Reads the suffix, behind which the prompt alone is no beginning of the output. */
static void read_suffix(struct gw_completion_builder *builder)
{
    gw_prompts_read_suffix(builder->api, &builder->fields, &builder->prompts);
    if (!builder->prompts.suffix)
        return;
    gw_builder_add_fim_stops(builder);
    if (builder->options.echo)
        gw_fields_fail(&builder->fields, "echo", "invalid_value", "echo: not together with suffix");
    if (builder->prompts.n_last) /* the last tokens of a prompt around a middle are no prompt */
        gw_fields_fail(&builder->fields, "truncate_prompt_tokens", "invalid_value",
                       "truncate_prompt_tokens: not together with suffix");
}

void gw_openai_completions(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct gw_fields *fields = &builder.fields;
    struct gw_openai_options own = {0};
    int64_t max_tokens = -1; /* not given */
    gw_builder_init(&builder, api, exchange, body, &dialect);
    builder.options.own = &own;
    builder.options.batch = true; /* of choices */
    gw_params_read_model(api, fields, &builder.params.shared.adapters);
    read_n(api, fields, &builder.options);
    read_stream(&builder, &own);
    gw_params_read(api, fields, &builder.params);
    gw_field_bool(fields, "echo", &builder.options.echo);
    gw_field_int(fields, "max_tokens", 0, gw_builder_max_tokens(api), &max_tokens);
    read_completion_logprobs(fields, &builder.options, &builder.params.shared);
    own.prompt_logprobs = gw_prompt_logprobs_read(&builder);
    gw_prompts_read_truncation(api, fields, max_tokens > 0 ? max_tokens : 1, &builder.prompts);
    (void)gw_field(fields, "prompt");
    read_suffix(&builder);
    read_rest(&builder, false);
    builder.options.no_output = !max_tokens; /* a request has at least one token: it is hidden */
    gw_prompts_read(api, fields, GW_BATCH_ANY, (size_t)api->max_batch, &builder.prompts);
    gw_builder_start(&builder, &gw_openai_writer, "max_tokens", max_tokens > 0 ? max_tokens : 0,
                     builder.options.no_output ? 1 : COMPLETION_NEW_TOKENS);
}

/* ---- fill in the middle ---- */

/* Reads the parts of Mistral's route. Without a suffix the model still writes code, not prose. */
static struct baton_fim_parts read_fim_parts(struct gw_fields *fields)
{
    struct baton_fim_parts parts = {.n_files = 0};
    const struct baton_json *prompt = gw_field_of(fields, "prompt", GW_IS_STRING, "a string");
    const struct baton_json *suffix = gw_field_of(fields, "suffix", GW_IS_STRING, "a string");
    if (!prompt)
        gw_fields_fail(fields, "prompt", "missing_field", "prompt: required");
    parts.prefix.bytes = baton_json_string(prompt, &parts.prefix.n);
    parts.suffix.bytes = baton_json_string(suffix, &parts.suffix.n);
    return parts;
}

void gw_mistral_fim(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct gw_fields *fields = &builder.fields;
    struct gw_openai_options own = {.chat = true};
    const struct baton_fim_limits limits = {.max_tokens = gw_prompts_most_tokens(api)};
    int64_t max_tokens = 0;
    struct baton_why why = {""};
    bool was_cut;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    builder.options.own = &own;
    builder.options.batch = true;
    gw_params_read_model(api, fields, &builder.params.shared.adapters);
    read_n(api, fields, &builder.options);
    read_stream(&builder, &own);
    gw_params_read(api, fields, &builder.params);
    gw_field_int(fields, "max_tokens", 1, gw_builder_max_tokens(api), &max_tokens);
    struct baton_fim_parts parts = read_fim_parts(fields);
    read_rest(&builder, false);
    if (baton_fim_lacks(api->fim, &why))
        gw_fields_fail(fields, "prompt", "unsupported_field", "prompt: %s", why.text);
    gw_builder_add_fim_stops(&builder);
    gw_prompts_read_fim(api, fields, &parts, &limits, &builder.prompts, &was_cut);
    gw_builder_start(&builder, &gw_openai_writer, "max_tokens", max_tokens,
                     api->facts->n_context_tokens);
}

/* ---- chat ---- */

/* Reads the length; 0: not given, or a request that only computes the prompt, by which editors warm
 * the cache up. Both names may be given only with the same value. */
static int64_t read_chat_length(struct gw_completion_builder *builder, const char **name)
{
    struct gw_fields *fields = &builder->fields;
    const int64_t most = gw_builder_max_tokens(builder->api);
    int64_t max_tokens = -1, max_completion_tokens = -1; /* not given */
    gw_field_int(fields, "max_tokens", 0, most, &max_tokens);
    gw_field_int(fields, "max_completion_tokens", 0, most, &max_completion_tokens);
    if (max_tokens >= 0 && max_completion_tokens >= 0 && max_tokens != max_completion_tokens)
        gw_fields_fail(fields, "max_completion_tokens", "invalid_value",
                       "max_completion_tokens: differs from max_tokens; give one of them");
    *name = max_completion_tokens >= 0 ? "max_completion_tokens" : "max_tokens";
    int64_t wanted = max_completion_tokens >= 0 ? max_completion_tokens : max_tokens;
    builder->options.no_output = !wanted; /* a request has at least one token: it is hidden */
    return wanted > 0 ? wanted : 0;
}

/* Reads llama.cpp's field: whether reasoning is separated from the text. */
static bool read_reasoning_format(struct gw_fields *fields)
{
    static const char *const formats[] = {"none", "auto", "deepseek"};
    return gw_field_word(fields, "reasoning_format", formats, 3) != 0;
}

/* Answers the rewritten body of a chat. */
static void chat(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                 const struct baton_json *given)
{
    struct gw_completion_builder builder;
    struct gw_fields *fields = &builder.fields;
    struct baton_chat_input input = {0};
    struct gw_tool_choice choice;
    struct gw_openai_options own = {.chat = true,
                                    .has_functions = gw_chat_body_has_functions(given)};
    const char *length_name;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    builder.options.own = &own;
    builder.options.batch = true;
    gw_params_read_model(api, fields, &builder.params.shared.adapters);
    read_n(api, fields, &builder.options);
    read_stream(&builder, &own);
    gw_params_read(api, fields, &builder.params);
    int64_t wanted = read_chat_length(&builder, &length_name);
    gw_prompts_read_truncation(api, fields, wanted ? wanted : 1, &builder.prompts);
    gw_params_read_logprobs(fields, &builder.params.shared.sampling);
    own.prompt_logprobs = gw_prompt_logprobs_read(&builder);
    gw_messages_read(fields, &input, &choice);
    gw_thinking_read_reasoning(fields, &input);
    bool has_reasoning = read_reasoning_format(fields);
    read_rest(&builder, true);
    gw_builder_set_chat(&builder, &input);
    gw_builder_extract_tools(&builder);
    if (has_reasoning)
        gw_builder_extract_reasoning(&builder);
    gw_builder_constrain_tools(&builder, input.tools, &choice);
    if (!own.has_functions)
        own.tools = baton_json_share(baton_json_get(given, "tools"));
    gw_builder_start(&builder, &gw_openai_writer, length_name, wanted,
                     builder.options.no_output ? 1 : api->facts->n_context_tokens);
}

void gw_openai_chat(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_fields given = gw_fields(body);
    given.schema = api->schema;
    struct baton_json *made = gw_chat_body(&given);
    if (made)
        chat(api, exchange, made, body);
    else
        gw_completion_refuse(api, exchange, &given.problem);
    baton_json_free(made);
}
