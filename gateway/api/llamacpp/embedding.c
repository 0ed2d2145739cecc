#include "gateway/api/llamacpp/embedding.h"

#include "gateway/api/embeddings/embeddings.h"

/* ---- the answer ---- */

/* Writes an array of arrays, because llama.cpp without pooling has one for each token. */
static void keep_embedding(struct gw_choice *choice, const float *values, size_t n)
{
    struct baton_json_out out = baton_json_out(&choice->result);
    baton_json_open(&out, NULL, '{');
    baton_json_put_int(&out, "index", choice->index);
    baton_buf_puts(&choice->result, ",\"embedding\":[");
    gw_embedding_keep(choice, values, n);
    baton_buf_putc(&choice->result, ']');
    baton_json_close(&out, '}');
}

static const struct gw_answer_writer writer = {
    .options_bytes = sizeof(struct gw_embeddings_options),
    .embedding = keep_embedding,
    .usage_names = {"tokens_evaluated"},
};

/* ---- the route ---- */

/* llama.cpp's numbers of norms: -1 for none, 2 for the Euclidean norm. */
static void read_norm(struct gw_fields *fields, bool *is_raw)
{
    enum { NONE = -1, EUCLID = 2 };
    int64_t norm = EUCLID;
    gw_field_int(fields, "embd_normalize", NONE, EUCLID, &norm);
    if (norm != NONE && norm != EUCLID)
        gw_fields_fail(fields, "embd_normalize", "unsupported_field",
                       "embd_normalize: only -1 (none) and 2 (Euclidean norm) are supported");
    *is_raw = norm == NONE;
}

void gw_llamacpp_embedding(struct gw_api *api, struct gw_exchange *exchange,
                           const struct baton_json *body)
{
    static const struct gw_alias aliases[] = {{"content", "input"}};
    static const struct gw_dialect dialect = {.aliases = aliases, .n_aliases = 1};
    struct gw_completion_builder builder;
    struct gw_embeddings_options own = {0};
    gw_builder_init(&builder, api, exchange, body, &dialect);
    builder.options.batch = true;
    gw_params_read_model(api, &builder.fields, &builder.params.shared.adapters);
    gw_embeddings_read(&builder, &own);
    read_norm(&builder.fields, &own.is_raw);
    (void)gw_field(&builder.fields, "content");
    gw_builder_end_fields(&builder);
    gw_embeddings_read_input(&builder, "content", GW_BATCH_ANY, false);
    gw_embeddings_start(&builder, &writer);
}
