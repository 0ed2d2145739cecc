#include "gateway/api/openai/embeddings.h"

#include "gateway/api/embeddings/embeddings.h"

/* ---- the answer ---- */

static void put_usage(struct baton_json_out *out, const char *key,
                      const struct gw_completion *completion)
{
    baton_json_open(out, key, '{');
    baton_json_put_uint(out, "prompt_tokens", completion->totals.prompt_tokens);
    baton_json_put_uint(out, "total_tokens", completion->totals.prompt_tokens);
    baton_json_open(out, "prompt_tokens_details", '{');
    baton_json_put_uint(out, "cached_tokens", completion->totals.cached_tokens);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

static void put_answer(struct gw_completion *completion, struct baton_json_out *out)
{
    char id[GW_ANSWER_ID_BYTES];
    baton_json_put_string(out, "id", gw_choice_id(&completion->choices[0], "embd", id));
    baton_json_put_string(out, "object", "list");
    baton_json_put_string(out, "model", completion->api->names->list[0]);
    gw_completion_put_results(completion, "data", out);
    put_usage(out, "usage", completion);
}

static void keep_embedding(struct gw_choice *choice, const float *values, size_t n)
{
    struct baton_json_out out = baton_json_out(&choice->result);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "object", "embedding");
    baton_json_put_int(&out, "index", choice->index);
    baton_buf_puts(&choice->result, ",\"embedding\":");
    gw_embedding_keep(choice, values, n);
    baton_json_close(&out, '}');
}

static const struct gw_answer_writer writer = {
    .options_bytes = sizeof(struct gw_embeddings_options),
    .embedding = keep_embedding,
    .put_answer = put_answer,
    .put_usage = put_usage,
};

/* ---- the route ---- */

static void read_format(struct gw_fields *fields, bool *base64)
{
    static const char *const formats[] = {"float", "base64"};
    *base64 = gw_field_word(fields, "encoding_format", formats, 2) == 1;
}

void gw_openai_embeddings(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct gw_embeddings_options own = {0};
    gw_builder_init(&builder, api, exchange, body, NULL);
    builder.options.batch = true;
    gw_params_read_model(api, &builder.fields);
    gw_embeddings_read(&builder, &own);
    read_format(&builder.fields, &own.base64);
    gw_prompts_read_truncation(api, &builder.fields, 0, &builder.prompts);
    (void)gw_field(&builder.fields, "user"); /* OpenAI uses it to detect abuse */
    (void)gw_field(&builder.fields, "input");
    gw_builder_end_fields(&builder);
    gw_embeddings_read_input(&builder, "input", GW_BATCH_ANY, false);
    gw_embeddings_start(&builder, &writer);
}
