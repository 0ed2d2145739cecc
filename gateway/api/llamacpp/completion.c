#include "gateway/api/llamacpp/completion.h"

#include "common/base/array.h"
#include "gateway/api/completion/builder.h"
#include "gateway/api/llamacpp/infill.h"
#include "gateway/api/llamacpp/writer.h"
#include "gateway/api/params/thinking.h"

static const struct gw_alias aliases[] = {
    {"repetition_penalty", "repeat_penalty"},
    {"n_predict", "max_tokens"},
    {"n_cmpl", "n"},
};
static const char *const off_at_minus_one[] = {"top_k", "seed"};
static const struct gw_dialect dialect = {
    .aliases = aliases,
    .n_aliases = BATON_N_OF(aliases),
    .off_at_minus_one = off_at_minus_one,
    .n_off = BATON_N_OF(off_at_minus_one),
};

static const char *const unsupported[] = {"image_data"};
/* Without a suffix and a prefix the text around the cursor would be lost. */
static const char *const only_of_infill[] = {"input_prefix", "input_suffix", "input_extra"};

/* Reads n_probs. Probabilities after all filters are only in explained steps, so these are
 * requested from the workers even if the client does not want to see them. */
static void read_probabilities(struct gw_completion_builder *builder)
{
    struct gw_fields *fields = &builder->fields;
    struct gw_completion_options *options = &builder->options;
    struct baton_sampling_params *params = &builder->params.shared.sampling;
    int64_t n = 0;
    gw_field_int(fields, "n_probs", 0, BATON_MAX_LISTED, &n);
    gw_field_bool(fields, "post_sampling_probs", &options->post_sampling_probs);
    params->logprobs = n > 0;
    params->top_logprobs = (uint32_t)n;
    options->post_sampling_probs &= params->logprobs;
    options->hides_steps = options->post_sampling_probs && !params->explain;
    if (options->hides_steps)
        params->explain = BATON_MAX_LISTED; /* more than n, because filters removed some of them */
}

/* Reads the length: llama.cpp's -1 and -2 mean as many as fit; 0 only computes the prompt. */
static int64_t read_length(struct gw_completion_builder *builder)
{
    int64_t n = -1;
    gw_field_int(&builder->fields, "n_predict", -2, gw_builder_max_tokens(builder->api), &n);
    builder->options.no_output = !n; /* a request has at least one token: it is hidden */
    return n < 0 ? 0 : n;
}

/* Reads the number of outputs, which an array answers if they are several. */
static void read_n(struct gw_completion_builder *builder)
{
    int64_t n = 1;
    gw_field_int(&builder->fields, "n_cmpl", 1, builder->api->max_batch, &n);
    builder->options.n = (int)n;
}

static void read_response_fields(struct gw_fields *fields, struct gw_llamacpp_options *own)
{
    static const char wanted[] = "an array of names such as \"timings/prompt_n\"";
    const struct baton_json *paths = gw_field_of(fields, "response_fields", GW_IS_ARRAY, wanted);
    own->fields = baton_json_size(paths) ? baton_json_share(paths) : NULL; /* []: all */
    for (size_t i = 0; i < baton_json_size(own->fields); i++)
        if (baton_json_kind(baton_json_at(own->fields, i)) != BATON_JSON_STRING)
            gw_fields_fail(fields, "response_fields", "invalid_type", "response_fields: must be %s",
                           wanted);
}

/* The fields of both routes but the prompt's. Returns the length. */
static int64_t read_shared(struct gw_completion_builder *builder, struct gw_llamacpp_options *own)
{
    struct gw_fields *fields = &builder->fields;
    gw_params_read_model(builder->api, fields, &builder->params.shared.adapters);
    gw_params_read(builder->api, fields, &builder->params);
    gw_infill_read_samplers(fields, &builder->params.shared.sampling);
    gw_infill_read_bounds(fields, &builder->params.shared);
    read_probabilities(builder);
    gw_field_bool(fields, "stream", &builder->options.streaming);
    gw_field_bool(fields, "return_tokens", &own->return_tokens);
    read_n(builder);
    read_response_fields(fields, own);
    gw_builder_read_progress(builder);
    gw_field_bool(fields, "timings_per_token", &builder->options.timings_per_token);
    gw_fields_refuse(fields, unsupported, BATON_N_OF(unsupported));
    gw_thinking_refuse_bounds(fields);
    return read_length(builder);
}

static void start(struct gw_completion_builder *builder, int64_t wanted)
{
    builder->options.batch = builder->prompts.is_batch || builder->options.n > 1;
    gw_builder_start(builder, &gw_llamacpp_writer, "n_predict", wanted,
                     builder->options.no_output ? 1 : builder->api->facts->n_context_tokens);
}

void gw_llamacpp_completion(struct gw_api *api, struct gw_exchange *exchange,
                            const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct gw_llamacpp_options own = {0};
    gw_builder_init(&builder, api, exchange, body, &dialect);
    builder.options.own = &own;
    int64_t wanted = read_shared(&builder, &own);
    gw_fields_refuse(&builder.fields, only_of_infill, BATON_N_OF(only_of_infill));
    (void)gw_field(&builder.fields, "prompt"); /* tokenized only after all cheap checks */
    gw_builder_end_fields(&builder);
    builder.prompts.takes_objects = true;
    gw_prompts_read(api, &builder.fields, GW_BATCH_ANY, (size_t)api->max_batch, &builder.prompts);
    start(&builder, wanted);
}

void gw_llamacpp_infill(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct gw_llamacpp_options own = {0};
    struct gw_infill infill;
    gw_builder_init(&builder, api, exchange, body, &dialect);
    builder.options.own = &own;
    gw_infill_read(&builder, &infill);
    int64_t wanted = read_shared(&builder, &own);
    gw_builder_end_fields(&builder);
    gw_infill_set_prompt(&builder, &infill, wanted, &own.was_cut);
    start(&builder, wanted);
}
