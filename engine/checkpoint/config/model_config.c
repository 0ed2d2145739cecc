#include "engine/checkpoint/config/model_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/os/file.h"
#include "engine/checkpoint/config/defaults.h"
#include "engine/checkpoint/config/internal.h"
#include "engine/checkpoint/config/quantization.h"
#include "engine/checkpoint/config/unserved.h"
#include "engine/checkpoint/model_files.h"

/* A config.json is a few KB, and up to 1 MB with its label lists; the defaults are this program's
 * own. */
enum { FILE_MAX_BYTES = 16 << 20, DEFAULTS_MAX_BYTES = 2048 };

/* ---- texts ---- */

static enum baton_err parse_object(const void *text, size_t n, struct baton_json **root,
                                   struct baton_why *why)
{
    struct baton_json *parsed = NULL;
    enum baton_err err = baton_json_parse_file(text, n, &parsed, why);
    if (err)
        return err;
    if (baton_json_kind(parsed) == BATON_JSON_OBJECT) {
        *root = parsed;
        return BATON_OK;
    }
    baton_json_free(parsed);
    return baton_fail(why, BATON_INVALID, "must hold one JSON object");
}

/* Reads the keys whose presence is what matters. */
static void read_presence(const struct baton_json *object, struct baton_model_config *config)
{
    const struct baton_json *quantized = baton_json_get(object, "quantization_config");
    const struct baton_json *use_window = baton_json_get(object, "use_sliding_window");
    if (!quantized)
        quantized = baton_json_get(object, "compression_config");
    if (baton_json_kind(quantized) != BATON_JSON_NULL) {
        if (!baton_quantization_check(quantized, config->quantization))
            config->features |= BATON_FEATURE(QUANTIZATION);
    }
    if (baton_json_kind(baton_json_get(object, "sparse_config")) != BATON_JSON_NULL)
        config->features |= BATON_FEATURE(SPARSE_ATTENTION);
    if (baton_json_kind(use_window) == BATON_JSON_BOOL && !baton_json_bool(use_window))
        config->features &= ~BATON_FEATURE(SLIDING_WINDOW);
}

/* Reads use_bidirectional_attention: true, "all", or "vision", which concerns pictures alone. */
static enum baton_err read_direction(const struct baton_json *object, const char *prefix,
                                     struct baton_model_config *config, struct baton_why *why)
{
    static const char name[] = "use_bidirectional_attention";
    const struct baton_json *value = baton_json_get(object, name);
    const char *given = baton_json_string(value, NULL), *text = given ? given : "";
    if (!value)
        return BATON_OK;
    if (baton_json_kind(value) != BATON_JSON_NULL && baton_json_kind(value) != BATON_JSON_BOOL &&
        strcmp(text, "all") != 0 && strcmp(text, "vision") != 0)
        return baton_config_refuse(prefix, name, value, "true, false, \"all\" or \"vision\"", why);
    config->bidirectional = baton_json_bool(value) || !strcmp(text, "all");
    config->features &= ~BATON_FEATURE(BIDIRECTIONAL);
    if (config->bidirectional)
        config->features |= BATON_FEATURE(BIDIRECTIONAL);
    return BATON_OK;
}

static enum baton_err read_object(const struct baton_json *object, const char *prefix,
                                  struct baton_model_config *config, struct baton_why *why)
{
    enum baton_err err = baton_config_read_table(&baton_model_config_keys, object, prefix, config,
                                                 &config->features, why);
    if (!err)
        err = baton_model_config_read_ropes(object, prefix, config, why);
    if (!err)
        err = baton_model_config_read_layers(object, prefix, config, why);
    if (!err)
        err = baton_model_config_read_time_steps(object, prefix, config, why);
    if (!err)
        err = read_direction(object, prefix, config, why);
    if (!err)
        read_presence(object, config);
    return err;
}

static enum baton_err read_defaults(const char *model_type, struct baton_model_config *config,
                                    struct baton_why *why)
{
    const char *quoted = baton_model_defaults(model_type);
    char text[DEFAULTS_MAX_BYTES];
    struct baton_json *root = NULL;
    if (!quoted)
        return BATON_OK;
    (void)snprintf(text, sizeof text, "%s", quoted);
    for (char *c = text; (c = strchr(c, '\'')); c++)
        *c = '"';
    enum baton_err err = parse_object(text, strlen(text), &root, why);
    if (!err)
        err = read_object(root, "", config, why);
    baton_json_free(root);
    return err;
}

/* Returns the model type whose defaults apply: text_config's, or the file's, or the one that a
 * wrapper of the file's type holds. */
static const char *model_type(const struct baton_json *root, const struct baton_json *inner)
{
    const char *type = baton_json_string(baton_json_get(inner, "model_type"), NULL);
    const char *outer = baton_json_string(baton_json_get(root, "model_type"), NULL);
    if (type)
        return baton_model_text_of(type);
    return outer ? baton_model_wrapped(outer) : "";
}

/* Reads the keys that a wrapper has outside of text_config. */
static void read_wrapper(const struct baton_json *root, const struct baton_json *inner,
                         struct baton_model_config *config)
{
    const char *type = baton_json_string(baton_json_get(root, "model_type"), NULL);
    const struct baton_json *tied = baton_json_get(root, "tie_word_embeddings");
    (void)snprintf(config->wrapper, sizeof config->wrapper, "%s", type ? type : "?");
    read_presence(root, config);
    if (!baton_json_get(inner, "tie_word_embeddings") && baton_json_kind(tied) == BATON_JSON_BOOL)
        config->tied_head = baton_json_bool(tied);
}

static enum baton_err read_root(const struct baton_json *root, struct baton_model_config *config,
                                struct baton_why *why)
{
    const struct baton_json *text = baton_json_get(root, "text_config");
    bool wrapped = baton_json_kind(text) == BATON_JSON_OBJECT;
    const struct baton_json *inner = wrapped ? text : root;
    const char *type = model_type(root, inner);
    /* The order is the priority: neutral values, then the family's defaults, then the file's own
     * keys. */
    *config = baton_model_config_unsaid;
    (void)snprintf(config->model_type, sizeof config->model_type, "%s", type);
    /* Before the keys: those of a family that is not served may be anything. */
    if (baton_missing_in_type(type))
        return baton_fail(why, BATON_INVALID, "model_type: \"%.40s\" is not supported: it needs %s",
                          type, baton_missing_in_type(type));
    enum baton_err err = read_defaults(type, config, why);
    if (!err)
        err = read_object(inner, wrapped ? "text_config." : "", config, why);
    if (err)
        return err;
    char read[sizeof config->model_type];
    memcpy(read, config->model_type, sizeof read);
    (void)snprintf(config->model_type, sizeof config->model_type, "%s", baton_model_text_of(read));
    if (wrapped)
        read_wrapper(root, inner, config);
    /* The wrapper's ids go before text_config's, as in transformers'
     * GenerationConfig.from_model_config. */
    config->bos_id = baton_model_config_id(config, baton_json_get(root, "bos_token_id"));
    if (wrapped && config->bos_id < 0)
        config->bos_id = baton_model_config_id(config, baton_json_get(inner, "bos_token_id"));
    err = baton_model_config_add_eos(config, baton_json_get(root, "eos_token_id"), why);
    if (!err && wrapped && !config->n_eos)
        err = baton_model_config_add_eos(config, baton_json_get(inner, "eos_token_id"), why);
    return err ? err : baton_model_config_read_encoder(root, config, why);
}

enum baton_err baton_model_config_parse(const void *text, size_t n,
                                        struct baton_model_config *config, struct baton_why *why)
{
    struct baton_json *root = NULL;
    struct baton_model_config read;
    enum baton_err err = parse_object(text, n, &root, why);
    if (!err)
        err = read_root(root, &read, why);
    if (!err)
        *config = read;
    baton_json_free(root);
    return err;
}

enum baton_err baton_model_config_parse_generation(const void *text, size_t n,
                                                   struct baton_model_config *config,
                                                   struct baton_why *why)
{
    struct baton_json *root = NULL;
    struct baton_model_config read = *config;
    enum baton_err err = parse_object(text, n, &root, why);
    if (!err)
        err = baton_model_config_read_sampling(root, &read.sampling, why);
    if (!err)
        err = baton_model_config_add_eos(&read, baton_json_get(root, "eos_token_id"), why);
    if (!err)
        *config = read;
    baton_json_free(root);
    return err;
}

/* ---- files ---- */

static enum baton_err parse_file(const char *path,
                                 enum baton_err (*parse)(const void *text, size_t n,
                                                         struct baton_model_config *config,
                                                         struct baton_why *why),
                                 struct baton_model_config *config, struct baton_why *why)
{
    struct baton_buf text;
    struct baton_why reason;
    baton_buf_init(&text, FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err) {
        err = parse(baton_buf_text(&text), text.len, config, &reason);
        if (err)
            (void)baton_fail(why, err, "%s: %s", path, reason.text);
    }
    baton_buf_fini(&text);
    return err;
}

enum baton_err baton_model_config_read(const char *model_path, struct baton_model_config *config,
                                       char source[PATH_MAX], struct baton_why *why)
{
    static const char generation[] = "generation_config.json";
    char path[PATH_MAX], generation_path[PATH_MAX];
    struct baton_model_config read;
    enum baton_err err = baton_file_path(path, model_path, "config.json", why);
    if (!err)
        err = baton_file_path(generation_path, model_path, generation, why);
    if (!err)
        err = parse_file(path, baton_model_config_parse, &read, why);
    if (!err && baton_model_files_has(model_path, generation))
        err = parse_file(generation_path, baton_model_config_parse_generation, &read, why);
    if (!err && !read.scores_pairs)
        err = baton_pooling_read(model_path, read.is_encoder, &read.pooled, why);
    if (err)
        return err;
    if (read.is_encoder && !read.pooled.pooling)
        read.pooled.pooling = BATON_POOLING_MEAN; /* sentence-transformers' own default */
    *config = read;
    memcpy(source, path, sizeof path);
    return BATON_OK;
}
