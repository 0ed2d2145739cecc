#include "gateway/api/openai/embeddings.h"

#include "gateway/api/embeddings/embeddings.h"
#include "gateway/api/embeddings/text_prompt.h"
#include "gateway/api/openai/messages.h"

/* ---- the answer ---- */

static void put_usage(struct baton_json_out *out, const char *key,
                      const struct gw_completion *completion)
{
    baton_json_open(out, key, '{');
    baton_json_put_uint(out, "prompt_tokens", completion->totals.prompt_tokens);
    baton_json_put_uint(out, "total_tokens", completion->totals.prompt_tokens);
    baton_json_open(out, "prompt_tokens_details", '{');
    baton_json_put_uint(out, "cached_tokens", completion->totals.prompt_cached_tokens);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

static void put_answer(struct gw_completion *completion, struct baton_json_out *out)
{
    char id[GW_ANSWER_ID_BYTES];
    baton_json_put_string(out, "id", gw_choice_id(&completion->choices[0], "embd", id));
    baton_json_put_string(out, "object", "list");
    baton_json_put_string(out, "model", gw_completion_model(completion));
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

/* Reads vLLM's "messages", a conversation to embed instead of the input; NULL: none. */
static const struct baton_json *read_messages(const struct gw_api *api, struct gw_fields *fields,
                                              const struct baton_json *input)
{
    bool is_given = baton_json_kind(baton_json_get(fields->body, "messages")) != BATON_JSON_NULL;
    const struct baton_json *messages =
        is_given || api->schema ? gw_messages_read_list(fields) : gw_field(fields, "messages");
    gw_field_may_be_absent(fields, "messages");
    if (is_given && input)
        gw_fields_fail(fields, "messages", "invalid_value", "messages: not together with input");
    return messages;
}

void gw_openai_embeddings(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct gw_embeddings_options own = {0};
    gw_builder_init(&builder, api, exchange, body, NULL);
    builder.options.batch = true;
    gw_params_read_model(api, &builder.fields, &builder.params.shared.adapters);
    gw_embeddings_read(&builder, &own);
    gw_text_prompt_read(&builder);
    read_format(&builder.fields, &own.base64);
    gw_prompts_read_truncation(api, &builder.fields, 0, &builder.prompts);
    (void)gw_field(&builder.fields, "user"); /* OpenAI uses it to detect abuse */
    const struct baton_json *input = gw_field(&builder.fields, "input");
    const struct baton_json *messages = read_messages(api, &builder.fields, input);
    gw_builder_end_fields(&builder);
    if (messages)
        gw_prompts_read_chat(
            api, &builder.fields,
            &(struct baton_chat_input){.messages = messages, .no_generation_prompt = true},
            &builder.prompts);
    else
        gw_embeddings_read_input(&builder, "input", GW_BATCH_ANY, false);
    gw_embeddings_start(&builder, &writer);
}
