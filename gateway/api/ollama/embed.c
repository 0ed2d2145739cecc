#include "gateway/api/ollama/embed.h"

#include "common/base/clock.h"
#include "gateway/api/answer.h"
#include "gateway/api/embeddings/embeddings.h"
#include "gateway/api/ollama/body.h"

/* ---- the answers ---- */

static void put_embeddings(struct gw_completion *completion, struct baton_json_out *out)
{
    int64_t since_ns = gw_exchange_arrived_ns(completion->exchange);
    baton_json_put_string(out, "model", gw_completion_model(completion));
    gw_completion_put_results(completion, "embeddings", out);
    baton_json_put_int(out, "total_duration", baton_now_ns() - since_ns);
    baton_json_put_int(out, "load_duration", 1); /* clients divide by it */
    baton_json_put_uint(out, "prompt_eval_count", completion->totals.prompt_tokens);
}

/* Writes the whole answer. */
static void keep_one(struct gw_choice *choice, const float *values, size_t n)
{
    baton_buf_puts(&choice->result, "{\"embedding\":");
    gw_embedding_keep(choice, values, n);
    baton_buf_putc(&choice->result, '}');
}

static const struct gw_answer_writer embed_writer = {
    .options_bytes = sizeof(struct gw_embeddings_options),
    .embedding = gw_embedding_keep,
    .put_answer = put_embeddings,
    .usage_names = {"prompt_eval_count"},
};
static const struct gw_answer_writer embeddings_writer = {
    .options_bytes = sizeof(struct gw_embeddings_options),
    .embedding = keep_one,
    .usage_names = {"prompt_eval_count"},
};

/* ---- the routes ---- */

static void read_shared(struct gw_completion_builder *builder, struct gw_embeddings_options *own)
{
    gw_params_read_model(builder->api, &builder->fields, &builder->params.shared.adapters);
    gw_embeddings_read(builder, own);
    gw_ollama_read_options(&builder->fields);
    (void)gw_field(&builder->fields, "keep_alive"); /* no effect: the model is always loaded */
}

/* Answers a request without a text, by which clients load the model, with an empty array under the
 * key. */
static void answer_nothing(struct gw_completion_builder *builder, const char *key)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "model", builder->api->names->list[0]);
    baton_json_open(&answer.out, key, '[');
    baton_json_close(&answer.out, ']');
    gw_answer_close(&answer, builder->exchange, 200);
    gw_builder_fini(builder);
}

static bool is_empty(const struct baton_json *input)
{
    return !input || baton_json_is(input, "") ||
           (baton_json_kind(input) == BATON_JSON_ARRAY && !baton_json_size(input));
}

static void embed(struct gw_completion_builder *builder)
{
    struct gw_embeddings_options own = {0};
    bool truncate = true;
    builder->options.batch = true;
    read_shared(builder, &own);
    gw_field_bool(&builder->fields, "truncate", &truncate);
    const struct baton_json *input =
        gw_field_of(&builder->fields, "input", GW_IS_STRING | GW_IS_ARRAY,
                    "a string, an array of token ids or an array of either");
    gw_builder_end_fields(builder);
    if (!builder->fields.failed && is_empty(input)) {
        answer_nothing(builder, "embeddings");
        return;
    }
    gw_embeddings_read_input(builder, "input", GW_BATCH_ANY, truncate);
    gw_embeddings_start(builder, &embed_writer);
}

static void embeddings(struct gw_completion_builder *builder)
{
    struct gw_embeddings_options own = {.is_raw = true};
    read_shared(builder, &own);
    const struct baton_json *prompt =
        gw_field_of(&builder->fields, "prompt", GW_IS_STRING | GW_IS_ARRAY,
                    "a string or an array of token ids");
    gw_builder_end_fields(builder);
    if (!builder->fields.failed && is_empty(prompt)) {
        answer_nothing(builder, "embedding");
        return;
    }
    gw_embeddings_read_input(builder, "prompt", GW_BATCH_NONE, true);
    gw_embeddings_start(builder, &embeddings_writer);
}

static void run(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body,
                void (*route)(struct gw_completion_builder *builder))
{
    struct gw_completion_builder builder;
    struct baton_json *own = gw_ollama_body(api, body);
    if (!own) {
        gw_answer_error(exchange, 503, "overloaded", "no memory for the request");
        return;
    }
    gw_builder_init(&builder, api, exchange, own, NULL);
    route(&builder);
    baton_json_free(own);
}

void gw_ollama_embed(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *body)
{
    run(api, exchange, body, embed);
}

void gw_ollama_embeddings(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body)
{
    run(api, exchange, body, embeddings);
}
