#include "gateway/api/sglang/generate.h"

#include <string.h>

#include "common/base/array.h"
#include "common/base/version.h"
#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/json_util.h"
#include "gateway/api/params/adapters.h"
#include "gateway/api/params/thinking.h"
#include "gateway/api/sglang/writer.h"

enum { DEFAULT_NEW_TOKENS = 128 };

static const char *const off_at_minus_one[] = {"top_k"};
static const struct gw_dialect dialect = {.off_at_minus_one = off_at_minus_one,
                                          .n_off = BATON_N_OF(off_at_minus_one)};

static const char *const unsupported[] = {
    "image_data",          "audio_data",    "video_data",
    "input_embeds",        "stop_regex",    "top_logprobs_num",
    "token_ids_logprob",   "custom_params", "custom_logit_processor",
    "return_hidden_states"};
/* The text never shows special tokens, so the spaces between them are none. */
static const char *const without_effect[] = {"rid", "spaces_between_special_tokens",
                                             "return_text_in_logprobs"};

static bool is_given(const struct baton_json *body, const char *name)
{
    return baton_json_kind(baton_json_get(body, name)) != BATON_JSON_NULL;
}

bool gw_sglang_is_body(const struct baton_json *body)
{
    return is_given(body, "text") || is_given(body, "input_ids") ||
           is_given(body, "sampling_params");
}

/* Reads fields that SGLang has and Baton only at one value. */
static void read_fixed(struct gw_fields *fields)
{
    bool skips = true;
    int64_t zero = 0, from = -1;
    gw_field_bool(fields, "skip_special_tokens", &skips);
    if (!skips)
        gw_fields_fail(fields, "skip_special_tokens", "unsupported_field",
                       "skip_special_tokens: only true is supported");
    gw_field_int(fields, "min_new_tokens", 0, 0, &zero);
    gw_field_int(fields, "logprob_start_len", -1, -1, &from);
    for (size_t i = 0; i < BATON_N_OF(without_effect); i++)
        (void)gw_field(fields, without_effect[i]);
    gw_fields_refuse(fields, unsupported, BATON_N_OF(unsupported));
    gw_thinking_refuse_bounds(fields);
}

static void generate(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct gw_fields *fields = &builder.fields;
    int64_t max_new_tokens = 0, n = 1;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    (void)gw_field_of(fields, "sampling_params", GW_IS_OBJECT, "an object");
    gw_params_read_model(api, fields, &builder.params.shared.adapters);
    gw_adapters_read_name(api, fields, "lora_path", &builder.params.shared.adapters);
    gw_params_read(api, fields, &builder.params);
    gw_field_bool(fields, "stream", &builder.options.streaming);
    gw_field_bool(fields, "return_logprob", &builder.params.shared.sampling.logprobs);
    gw_field_bool(fields, "no_stop_trim", &builder.options.shows_stop);
    gw_field_int(fields, "n", 1, api->max_batch, &n);
    gw_field_int(fields, "max_new_tokens", 1, gw_builder_max_tokens(api), &max_new_tokens);
    read_fixed(fields);
    builder.options.n = (int)n;
    builder.prompts.field = is_given(body, "input_ids") ? "input_ids" : "text";
    if (is_given(body, "input_ids") && is_given(body, "text"))
        gw_fields_fail(fields, "input_ids", "invalid_value", "input_ids: not together with text");
    (void)gw_field(fields, builder.prompts.field);
    gw_builder_end_fields(&builder);
    gw_prompts_read(api, fields, GW_BATCH_ANY, (size_t)api->max_batch, &builder.prompts);
    builder.options.batch = builder.prompts.is_batch || n > 1;
    gw_builder_start(&builder, &gw_sglang_writer, "max_new_tokens", max_new_tokens,
                     DEFAULT_NEW_TOKENS);
}

/* SGLang takes a schema as the text of its JSON. */
static bool parse_schema(struct baton_json *body)
{
    size_t n = 0;
    struct baton_json *schema = NULL;
    const char *text = baton_json_string(baton_json_get(body, "json_schema"), &n);
    if (!text || baton_json_parse(text, n, &schema, NULL))
        return true; /* absent, or refused by the reader of grammars */
    return baton_json_set(body, "json_schema", schema);
}

void gw_sglang_generate(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body)
{
    const struct baton_json *params = baton_json_get(body, "sampling_params");
    bool lifts = gw_json_is_object(params);
    struct baton_json *own = baton_json_new_object();
    if (own && gw_json_add_members(own, body, lifts ? "sampling_params" : NULL) &&
        (!lifts || gw_json_add_members(own, params, NULL)) && parse_schema(own))
        generate(api, exchange, own);
    else
        gw_answer_error(exchange, 503, "overloaded", "no memory for the request");
    baton_json_free(own);
}

/* ---- the server ---- */

static void put_model(struct baton_json_out *out, const struct gw_api *api)
{
    baton_json_put_string(out, "model_path", api->names->list[0]);
    baton_json_put_string(out, "tokenizer_path", api->names->list[0]);
    baton_json_put_string(out, "served_model_name", api->names->list[0]);
    baton_json_put_string(out, "weight_version", "default");
}

void gw_sglang_flush_cache(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *none)
{
    static const char done[] = "Cache flushed.\n";
    struct gw_served models;
    (void)none;
    gw_models_asked_for(api, exchange, &models);
    for (size_t i = 0; i < models.n; i++)
        models.models[i]->cache_epoch++;
    gw_exchange_respond(exchange, 200, "text/plain", "", done, sizeof done - 1);
}

void gw_sglang_model_info(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *none)
{
    struct gw_answer answer;
    (void)none;
    gw_answer_open(&answer);
    put_model(&answer.out, api);
    baton_json_put_bool(&answer.out, "is_generation", true);
    baton_json_put_null(&answer.out, "preferred_sampling_params");
    gw_answer_close(&answer, exchange, 200);
}

void gw_sglang_server_info(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *none)
{
    struct gw_answer answer;
    (void)none;
    gw_answer_open(&answer);
    put_model(&answer.out, api);
    baton_json_put_int(&answer.out, "context_length", gw_fleet_context_tokens(api->fleet));
    baton_json_put_int(&answer.out, "max_req_input_len", api->max_prompt_tokens);
    baton_json_put_bool(&answer.out, "disable_radix_cache", !api->prefix_cache);
    baton_json_put_string(&answer.out, "version", baton_release);
    gw_answer_close(&answer, exchange, 200);
}
