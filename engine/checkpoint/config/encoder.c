/* The parts of a config.json that encoders alone have. */
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/config/internal.h"

#define CONFIG struct baton_model_config

static bool is_any(const char *text, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(texts[i], text))
            return true;
    return false;
}

static bool is_roberta(const CONFIG *config)
{
    static const char *const types[] = {"roberta", "xlm-roberta"};
    return is_any(config->model_type, types, BATON_N_OF(types));
}

static bool is_encoder(const CONFIG *config)
{
    static const char *const types[] = {"bert", "nomic_bert"};
    return config->bidirectional || is_roberta(config) ||
           is_any(config->model_type, types, BATON_N_OF(types));
}

/* RoBERTa counts positions from its padding token's id + 1 on; its table has rows for all. */
static enum baton_err set_context(CONFIG *config, struct baton_why *why)
{
    if (config->trained_context && config->trained_context < config->n_context)
        config->n_context = config->trained_context;
    if (!is_roberta(config))
        return BATON_OK;
    config->position_offset = config->pad_id + 1;
    config->n_context -= config->position_offset;
    if (config->n_context > 0)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "max_position_embeddings: must be more than pad_token_id + 1, %d",
                      config->position_offset);
}

/* The number of scores that a classifier gives. */
static size_t count_labels(const struct baton_json *root)
{
    const struct baton_json *labels = baton_json_get(root, "id2label");
    if (baton_json_kind(labels) == BATON_JSON_OBJECT)
        return baton_json_size(labels);
    const struct baton_json *n = baton_json_get(root, "num_labels");
    return baton_config_is_whole(n, 1, 1 << 20) ? (size_t)baton_json_int(n) : 2;
}

static enum baton_err set_scorer(const struct baton_json *root, CONFIG *config,
                                 struct baton_why *why)
{
    static const char suffix[] = "ForSequenceClassification";
    const char *architecture =
        baton_json_string(baton_json_at(baton_json_get(root, "architectures"), 0), NULL);
    if (!architecture || !strstr(architecture, suffix))
        return BATON_OK;
    if (!is_roberta(config) && strcmp(config->model_type, "bert") != 0)
        return baton_fail(why, BATON_INVALID,
                          "architectures: \"%.60s\" is not supported (classifiers: bert, roberta, "
                          "xlm-roberta)",
                          architecture);
    if (count_labels(root) != 1)
        return baton_fail(why, BATON_INVALID,
                          "id2label: a classifier of %zu labels is not supported: only rerankers, "
                          "which have 1",
                          count_labels(root));
    config->scores_pairs = true;
    config->pooled = (struct baton_pooling_config){
        .pooling = BATON_POOLING_CLS,
        .n_stages = 2,
        .stages = {{.n_out = config->n_embd, .has_bias = true, .is_tanh = true},
                   {.n_out = 1, .has_bias = true}}};
    return BATON_OK;
}

enum baton_err baton_model_config_read_encoder(const struct baton_json *root, CONFIG *config,
                                               struct baton_why *why)
{
    config->is_encoder = is_encoder(config);
    if (!config->is_encoder)
        return BATON_OK;
    enum baton_err err = set_context(config, why);
    return err ? err : set_scorer(root, config, why);
}
