#include "gateway/api/native/generate.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "gateway/api/native/writer.h"
#include "gateway/api/tgi/generate.h"

enum { DEFAULT_NEW_TOKENS = 20 };

/* The fields that only these routes have, and the check for unknown fields. */
static void read_own(const struct gw_api *api, struct gw_fields *fields,
                     struct gw_completion_params *params, struct gw_native_options *own,
                     int64_t *max_new_tokens)
{
    gw_field_int(fields, "max_new_tokens", 1, api->facts->n_context_tokens, max_new_tokens);
    gw_field_bool(fields, "kv_cache", &params->shared.kv_cache);
    gw_field_bool(fields, "timeline", &own->timeline);
    (void)gw_field(fields, "prompt"); /* known; read once everything else is right */
    gw_fields_refuse_unknown(fields);
}

static void generate(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body, bool streaming)
{
    struct gw_fields fields = gw_fields(body);
    struct gw_completion_params params = {0};
    struct gw_prompts prompts = {0};
    struct gw_native_options own = {0};
    struct gw_completion_options options = {.streaming = streaming, .n = 1, .own = &own};
    int64_t max_new_tokens = 0, *lengths = NULL;
    fields.schema = api->schema;
    gw_params_read(api, &fields, &params);
    read_own(api, &fields, &params, &own, &max_new_tokens);
    params.parsed_ns = baton_now_ns();
    gw_prompts_read(api, &fields, streaming ? GW_BATCH_NONE : GW_BATCH_IDS, (size_t)api->max_batch,
                    &prompts);
    params.tokenized_ns = baton_now_ns();
    options.batch = prompts.is_batch;
    if (!fields.failed)
        lengths = gw_prompts_lengths(api, &fields, &prompts, "max_new_tokens", max_new_tokens,
                                     DEFAULT_NEW_TOKENS);
    if (fields.failed)
        gw_completion_refuse(api, exchange, &fields.problem);
    else
        gw_completion_start(api, exchange, &gw_native_writer, &options, &params, &prompts, lengths);
    free(lengths);
    gw_prompts_fini(&prompts);
    gw_params_fini(&params);
}

void gw_generate(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    if (gw_tgi_is_body(body))
        gw_tgi_generate(api, exchange, body);
    else
        generate(api, exchange, body, false);
}

void gw_generate_stream(struct gw_api *api, struct gw_exchange *exchange,
                        const struct baton_json *body)
{
    generate(api, exchange, body, true);
}
