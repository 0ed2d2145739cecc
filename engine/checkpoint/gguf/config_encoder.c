/* Encoders of a GGUF file, and how any of its models pools embeddings. */
#include <string.h>

#include "engine/checkpoint/gguf/config_internal.h"
#include "engine/checkpoint/tensor.h"

#define READING struct baton_gguf_reading

/* The values of llama.cpp's LLAMA_POOLING_TYPE. */
enum { MEAN = 1, CLS = 2, LAST = 3, RANK = 4 };

/* The rows of a matrix; 0: the file has none of that name. */
static int64_t count_rows(const READING *reading, const char *name)
{
    const struct baton_tensor *tensor = baton_gguf_model_find(reading->model, name);
    return tensor ? tensor->n_dims > 1 ? tensor->shape[0] : 1 : 0;
}

/* A classifier's head, whose outputs are its labels. */
static void put_classifier(READING *reading)
{
    struct baton_json_out *out = &reading->out;
    int64_t n_labels = count_rows(reading, "cls.output.weight");
    if (!count_rows(reading, "cls.weight"))
        return;
    baton_json_open(out, "architectures", '[');
    baton_json_put_string(out, NULL, "BertForSequenceClassification");
    baton_json_close(out, ']');
    baton_json_put_int(out, "num_labels", n_labels > 0 ? n_labels : 1);
}

enum baton_err baton_gguf_put_encoder(READING *reading)
{
    struct baton_json_out *out = &reading->out;
    const char *type = reading->family->model_type;
    int64_t interval = 0;
    if (!(reading->family->traits & BATON_GGUF_ENCODER))
        return BATON_OK;
    enum baton_err err = baton_gguf_get_int(reading, "moe_every_n_layers", &interval);
    if (!strcmp(type, "gemma3_text")) {
        baton_json_put_bool(out, "use_bidirectional_attention", true);
        return err;
    }
    put_classifier(reading);
    baton_json_put_int(out, "type_vocab_size", count_rows(reading, "token_types.weight"));
    if (!strcmp(type, "nomic_bert")) {
        bool gated = baton_gguf_has(reading, "blk.0.ffn_gate.weight");
        baton_json_put_string(out, "activation_function", gated ? "swiglu" : "gelu");
        baton_json_put_bool(out, "mlp_fc2_bias", baton_gguf_has(reading, "blk.0.ffn_down.bias"));
        baton_json_put_int(out, "moe_every_n_layers", interval);
    }
    return err;
}

/* EmbeddingGemma's dense modules. */
static void set_stages(const READING *reading, struct baton_pooling_config *pooled)
{
    static const char *const names[] = {"dense_2.weight", "dense_3.weight"};
    for (int i = 0; i < BATON_MAX_POOLED_STAGES && baton_gguf_has(reading, names[i]); i++)
        pooled->stages[pooled->n_stages++] =
            (struct baton_pooled_stage){.n_out = (int)count_rows(reading, names[i])};
}

/* An encoder that states no pooling takes the mean, as sentence-transformers does. */
static enum baton_err set_pooling_of_encoder(const READING *reading, int64_t type,
                                             struct baton_model_config *config)
{
    if (type == RANK || config->scores_pairs)
        return config->scores_pairs
                   ? BATON_OK
                   : baton_gguf_refuse(
                         reading, "pooling_type",
                         "1 (mean), 2 (cls) or 3 (last) in a file without cls.weight");
    if (type < 0 || type > LAST)
        return baton_gguf_refuse(reading, "pooling_type", "in 0..4");
    config->pooled.pooling = type == CLS    ? BATON_POOLING_CLS
                             : type == LAST ? BATON_POOLING_LAST
                                            : BATON_POOLING_MEAN;
    set_stages(reading, &config->pooled);
    return BATON_OK;
}

enum baton_err baton_gguf_set_pooling(const READING *reading, struct baton_model_config *config)
{
    int64_t type = 0;
    enum baton_err err = baton_gguf_get_int(reading, "pooling_type", &type);
    if (err || config->is_encoder)
        return err ? err : set_pooling_of_encoder(reading, type, config);
    config->pooled.pooling = type == MEAN   ? BATON_POOLING_MEAN
                             : type == LAST ? BATON_POOLING_LAST
                                            : BATON_POOLING_NONE;
    return BATON_OK;
}
