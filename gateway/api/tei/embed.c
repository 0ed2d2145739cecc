#include "gateway/api/tei/embed.h"

#include "common/base/array.h"
#include "common/base/version.h"
#include "gateway/api/embeddings/embeddings.h"
#include "gateway/api/embeddings/text_prompt.h"

static const struct gw_answer_writer writer = {
    .options_bytes = sizeof(struct gw_embeddings_options),
    .embedding = gw_embedding_keep,
    .usage_names = {"prompt_tokens"},
};

static void read_cut(struct gw_completion_builder *builder, bool *are_cut)
{
    static const char *const directions[] = {"right", "left", "Right", "Left"};
    gw_field_bool(&builder->fields, "truncate", are_cut);
    builder->prompts.are_cut_at_start = gw_field_word(&builder->fields, "truncation_direction",
                                                      directions, BATON_N_OF(directions)) %
                                            2 ==
                                        1;
}

void gw_tei_embed(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    struct gw_completion_builder builder;
    struct gw_embeddings_options own = {0};
    bool are_cut = false, normalizes = true;
    gw_builder_init(&builder, api, exchange, body, NULL);
    builder.options.batch = true;
    gw_params_read_model(api, &builder.fields, &builder.params.shared.adapters);
    gw_embeddings_read(&builder, &own);
    gw_text_prompt_read(&builder);
    gw_field_bool(&builder.fields, "normalize", &normalizes);
    own.is_raw = !normalizes;
    read_cut(&builder, &are_cut);
    (void)gw_field(&builder.fields, "inputs");
    gw_builder_end_fields(&builder);
    gw_embeddings_read_input(&builder, "inputs", GW_BATCH_ANY, are_cut);
    gw_embeddings_start(&builder, &writer);
}

static void put_type(struct baton_json_out *out, const struct gw_api *api)
{
    bool ranks = api->facts->scores_pairs;
    baton_json_open(out, "model_type", '{');
    baton_json_open(out, ranks ? "reranker" : "embedding", '{');
    if (ranks) {
        baton_json_open(out, "id2label", '{');
        baton_json_put_string(out, "0", "LABEL_0");
        baton_json_close(out, '}');
        baton_json_open(out, "label2id", '{');
        baton_json_put_int(out, "LABEL_0", 0);
        baton_json_close(out, '}');
    } else {
        baton_json_put_string(out, "pooling", baton_pooling_name(gw_embeddings_pooling(api)));
    }
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

void gw_tei_put_info(struct baton_json_out *out, const struct gw_api *api)
{
    baton_json_put_string(out, "model_id", api->names->list[0]);
    baton_json_put_null(out, "model_sha");
    if (api->fleet->terms.kv_block_tokens)
        baton_json_put_string(out, "model_dtype", api->fleet->terms.dtype);
    else
        baton_json_put_null(out, "model_dtype");
    put_type(out, api);
    baton_json_put_int(out, "max_input_length", api->max_prompt_tokens);
    baton_json_put_int(out, "max_client_batch_size", GW_MAX_EMBEDDINGS);
    baton_json_put_bool(out, "auto_truncate", false);
    baton_json_put_string(out, "router", "baton");
    baton_json_put_string(out, "version", baton_release);
    baton_json_put_string(out, "sha", baton_commit);
}
