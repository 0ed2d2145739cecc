#include "gateway/api/tgi/generate.h"

#include "common/base/array.h"
#include "common/base/version.h"
#include "engine/tokenizer/stream.h"
#include "gateway/api/answer.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/json_util.h"
#include "gateway/api/params/adapters.h"
#include "gateway/api/params/thinking.h"
#include "gateway/api/tei/embed.h"
#include "gateway/api/tgi/writer.h"

enum { DEFAULT_NEW_TOKENS = 100 };

static const struct gw_alias aliases[] = {{"stop", "stop_sequences"}};
static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = BATON_N_OF(aliases)};

static const char *const unsupported[] = {"watermark"};

/* Fields that switch sampling on. TGI decodes greedily without any of them. */
static const char *const warpers[] = {"temperature", "top_k", "top_p", "typical_p"};

static void read_sampling(struct gw_fields *fields, struct baton_sampling_params *params)
{
    bool samples = false;
    gw_field_bool(fields, "do_sample", &samples);
    for (size_t i = 0; i < BATON_N_OF(warpers); i++) {
        const struct baton_json *value = baton_json_get(fields->body, warpers[i]);
        samples = samples || (value && baton_json_kind(value) != BATON_JSON_NULL);
    }
    if (!samples)
        params->temperature = 0;
}

/* Reads which details of the tokens the answer has. */
static void read_details(struct gw_completion_builder *builder, struct gw_tgi_options *own)
{
    struct gw_fields *fields = &builder->fields;
    struct gw_params *params = &builder->params.shared;
    int64_t n_top = 0;
    gw_field_bool(fields, "details", &own->details);
    gw_field_bool(fields, "decoder_input_details", &params->prompt_logprobs);
    gw_field_int(fields, "top_n_tokens", 0, BATON_MAX_LISTED, &n_top);
    if (params->prompt_logprobs && builder->options.streaming)
        gw_fields_fail(fields, "decoder_input_details", "invalid_value",
                       "decoder_input_details: is not available for a stream");
    own->details |= params->prompt_logprobs || n_top;
    params->sampling.logprobs = own->details || builder->options.streaming;
    params->sampling.top_logprobs = (uint32_t)n_top;
}

static void read_prompt(struct gw_completion_builder *builder)
{
    struct gw_fields *fields = &builder->fields;
    int64_t n_last = 0, best_of = 1;
    gw_field_bool(fields, "return_full_text", &builder->options.echo);
    gw_field_int(fields, "truncate", 1, builder->api->max_prompt_tokens, &n_last);
    gw_field_int(fields, "best_of", 1, INT32_MAX, &best_of);
    if (best_of != 1)
        gw_fields_fail(fields, "best_of", "unsupported_field", "best_of: only 1 is supported");
    builder->prompts.field = "inputs";
    builder->prompts.n_last = (size_t)n_last;
    (void)gw_field(fields, "inputs"); /* known, but tokenized only after all cheap checks */
}

static void generate(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body, const struct gw_completion_options *shape)
{
    struct gw_completion_builder builder;
    struct gw_fields *fields = &builder.fields;
    struct gw_tgi_options own = {0};
    int64_t max_new_tokens = 0;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    builder.options.own = &own;
    builder.options.streaming = shape->streaming;
    builder.options.batch = shape->batch;
    if (shape->batch)
        gw_field_bool(fields, "stream", &builder.options.streaming);
    else
        (void)gw_field(fields, "stream"); /* no effect: the path decides */
    /* An object was lifted into the body, so only a value of a wrong kind is left. */
    (void)gw_field_of(fields, "parameters", GW_IS_OBJECT, "an object");
    gw_params_read_model(api, fields, &builder.params.shared.adapters);
    gw_adapters_read_name(api, fields, "adapter_id", &builder.params.shared.adapters);
    gw_params_read(api, fields, &builder.params);
    read_sampling(fields, &builder.params.shared.sampling);
    read_details(&builder, &own);
    read_prompt(&builder);
    gw_field_int(fields, "max_new_tokens", 1, gw_builder_max_tokens(api), &max_new_tokens);
    gw_fields_refuse(fields, unsupported, BATON_N_OF(unsupported));
    gw_thinking_refuse_bounds(fields);
    gw_builder_end_fields(&builder);
    gw_prompts_read(api, fields, GW_BATCH_NONE, 1, &builder.prompts);
    gw_builder_start(&builder, &gw_tgi_writer, "max_new_tokens", max_new_tokens,
                     DEFAULT_NEW_TOKENS);
}

/* Lifts the members of `parameters` into the body, unless it has them already, so that the readers
 * of all routes find them. The result shares values with the body; NULL without memory. */
static struct baton_json *lift_parameters(const struct baton_json *body)
{
    const struct baton_json *parameters = baton_json_get(body, "parameters");
    bool has_object = gw_json_is_object(parameters);
    if (!gw_json_is_object(body))
        return baton_json_share(body);
    struct baton_json *made = baton_json_new_object();
    if (gw_json_add_members(made, body, has_object ? "parameters" : NULL) &&
        (!has_object || gw_json_add_members(made, parameters, NULL)))
        return made;
    baton_json_free(made);
    return NULL;
}

static void run(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                const struct gw_completion_options *shape)
{
    struct baton_json *own = lift_parameters(body);
    if (exchange)
        gw_tgi_errors.mark(exchange);
    if (own)
        generate(api, exchange, own, shape);
    else
        gw_answer_error(exchange, 503, "overloaded", "no memory for the request");
    baton_json_free(own);
}

bool gw_tgi_is_body(const struct baton_json *body)
{
    const struct baton_json *inputs = baton_json_get(body, "inputs");
    return inputs && baton_json_kind(inputs) != BATON_JSON_NULL;
}

void gw_tgi_generate(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body)
{
    run(api, exchange, body, &(struct gw_completion_options){0});
}

void gw_tgi_generate_stream(struct gw_api *api, struct gw_exchange *exchange,
                            const struct baton_json *body)
{
    run(api, exchange, body, &(struct gw_completion_options){.streaming = true});
}

void gw_tgi_compatible(struct gw_api *api, struct gw_exchange *exchange,
                       const struct baton_json *body)
{
    run(api, exchange, body, &(struct gw_completion_options){.batch = true});
}

void gw_tgi_info(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *unused)
{
    struct gw_answer answer;
    (void)unused;
    gw_answer_open(&answer);
    if (api->facts->is_encoder) {
        gw_tei_put_info(&answer.out, api);
        gw_answer_close(&answer, exchange, 200);
        return;
    }
    baton_json_put_string(&answer.out, "model_id", api->names->list[0]);
    baton_json_put_string(&answer.out, "model_pipeline_tag", "text-generation");
    baton_json_put_int(&answer.out, "max_best_of", 1);
    baton_json_put_int(&answer.out, "max_stop_sequences", BATON_STOP_MAX);
    baton_json_put_int(&answer.out, "max_input_tokens", api->max_prompt_tokens);
    baton_json_put_int(&answer.out, "max_total_tokens", gw_fleet_context_tokens(api->fleet));
    baton_json_put_int(&answer.out, "max_client_batch_size", 1);
    baton_json_put_string(&answer.out, "router", "baton");
    baton_json_put_string(&answer.out, "version", baton_release);
    baton_json_put_string(&answer.out, "sha", baton_commit);
    gw_answer_close(&answer, exchange, 200);
}
