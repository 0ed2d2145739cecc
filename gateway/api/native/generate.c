#include "gateway/api/native/generate.h"

#include "gateway/api/completion/builder.h"
#include "gateway/api/native/writer.h"
#include "gateway/api/sglang/generate.h"
#include "gateway/api/tgi/generate.h"

enum { DEFAULT_NEW_TOKENS = 20 };

static void generate(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body, bool streaming)
{
    struct gw_completion_builder builder;
    struct gw_fields *fields = &builder.fields;
    struct gw_native_options own = {0};
    int64_t max_new_tokens = 0;
    gw_builder_init(&builder, api, exchange, body, NULL);
    builder.is_strict = true;
    builder.options.own = &own;
    builder.options.streaming = streaming;
    gw_params_read_model(api, fields, &builder.params.shared.adapters);
    gw_params_read(api, fields, &builder.params);
    gw_field_int(fields, "max_new_tokens", 1, api->facts->n_context_tokens, &max_new_tokens);
    gw_field_bool(fields, "kv_cache", &builder.params.shared.kv_cache);
    gw_field_bool(fields, "timeline", &own.timeline);
    (void)gw_field(fields, "prompt"); /* known, but tokenized only after all cheap checks */
    gw_builder_end_fields(&builder);
    gw_prompts_read(api, fields, streaming ? GW_BATCH_NONE : GW_BATCH_ANY, (size_t)api->max_batch,
                    &builder.prompts);
    builder.options.batch = builder.prompts.is_batch;
    gw_builder_start(&builder, &gw_native_writer, "max_new_tokens", max_new_tokens,
                     DEFAULT_NEW_TOKENS);
}

void gw_generate(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    if (gw_tgi_is_body(body))
        gw_tgi_generate(api, exchange, body);
    else if (gw_sglang_is_body(body))
        gw_sglang_generate(api, exchange, body);
    else
        generate(api, exchange, body, false);
}

void gw_generate_stream(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body)
{
    generate(api, exchange, body, true);
}
