#include "engine/checkpoint/config/pooling.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/model_files.h"

#define MODULES "modules.json"
#define POOLING "1_Pooling/config.json"

enum { FILE_MAX_BYTES = 1 << 20 };

const char *baton_pooling_name(enum baton_pooling pooling)
{
    static const char *const names[] = {"none", "last", "mean", "cls"};
    return names[pooling];
}

static enum baton_err read_file(const char *model_path, const char *name, struct baton_json **root,
                                struct baton_why *why)
{
    char path[PATH_MAX];
    enum baton_err err = baton_file_path(path, model_path, name, why);
    return err ? err : baton_json_read_file(path, FILE_MAX_BYTES, root, why);
}

/* ---- pooling ---- */

static const struct {
    const char *mode, *name; /* of the older files' flag, of the newer files' text */
    enum baton_pooling pooling;
} modes[] = {{"pooling_mode_mean_tokens", "mean", BATON_POOLING_MEAN},
             {"pooling_mode_lasttoken", "lasttoken", BATON_POOLING_LAST},
             {"pooling_mode_cls_token", "cls", BATON_POOLING_CLS}};

static enum baton_pooling pooling_of(const char *text, bool is_flag)
{
    for (size_t i = 0; text && i < BATON_N_OF(modes); i++)
        if (!strcmp(is_flag ? modes[i].mode : modes[i].name, text))
            return modes[i].pooling;
    return BATON_POOLING_NONE;
}

/* Returns the one mode that is switched on; NONE when several are, for their vectors would be
 * joined. */
static enum baton_pooling mode_of(const struct baton_json *config)
{
    static const char prefix[] = "pooling_mode_";
    enum baton_pooling pooling =
        pooling_of(baton_json_string(baton_json_get(config, "pooling_mode"), NULL), false);
    int n_on = pooling != BATON_POOLING_NONE;
    for (void *it = baton_json_first(config); it; it = baton_json_next(config, it)) {
        const char *key = baton_json_key(it);
        if (strncmp(key, prefix, sizeof prefix - 1) != 0 || !baton_json_bool(baton_json_member(it)))
            continue;
        n_on++;
        pooling = pooling_of(key, true);
    }
    return n_on == 1 ? pooling : BATON_POOLING_NONE;
}

static enum baton_err set_mode(const char *model_path, const struct baton_json *root,
                               struct baton_pooling_config *config, struct baton_why *why)
{
    config->pooling = mode_of(root);
    if (config->pooling)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "%s/" POOLING ": exactly one of pooling_mode_mean_tokens, "
                      "pooling_mode_cls_token, pooling_mode_lasttoken must be true",
                      model_path);
}

/* ---- modules ---- */

static const char *class_of(const struct baton_json *module)
{
    const char *type = baton_json_string(baton_json_get(module, "type"), NULL);
    const char *dot = type ? strrchr(type, '.') : NULL;
    return dot ? dot + 1 : "?";
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && !strcmp(text + n - n_end, end);
}

static enum baton_err add_stage(const char *name, const struct baton_json *dense,
                                struct baton_pooling_config *config, struct baton_why *why)
{
    const char *activation = baton_json_string(baton_json_get(dense, "activation_function"), NULL);
    int64_t n_out = baton_json_int(baton_json_get(dense, "out_features"));
    const struct baton_json *bias = baton_json_get(dense, "bias");
    struct baton_pooled_stage *stage = &config->stages[config->n_stages++];
    bool is_tanh = !activation || ends_with(activation, ".Tanh"); /* the module's default */
    if (n_out < 1 || n_out > BATON_MAX_WIDTH)
        return baton_fail(why, BATON_INVALID, "%s: out_features: must be in 1..%d", name,
                          BATON_MAX_WIDTH);
    if (!is_tanh && !ends_with(activation, ".Identity"))
        return baton_fail(why, BATON_INVALID,
                          "%s: activation_function: \"%.60s\" is not supported (supported: "
                          "Identity, Tanh)",
                          name, activation);
    *stage = (struct baton_pooled_stage){.n_out = (int)n_out,
                                         .has_bias = baton_json_kind(bias) != BATON_JSON_BOOL ||
                                                     baton_json_bool(bias),
                                         .is_tanh = is_tanh};
    return BATON_OK;
}

/* Reads the dense module that follows the others so far. */
static enum baton_err read_dense(const char *model_path, const struct baton_json *module,
                                 struct baton_pooling_config *config, struct baton_why *why)
{
    const char *path = baton_json_string(baton_json_get(module, "path"), NULL);
    struct baton_json *root = NULL;
    char wanted[32], name[64];
    (void)snprintf(wanted, sizeof wanted, "%d_Dense", config->n_stages + 2);
    (void)snprintf(name, sizeof name, "%s/config.json", wanted);
    if (config->n_stages == BATON_MAX_POOLED_STAGES || !path || strcmp(path, wanted) != 0)
        return baton_fail(why, BATON_INVALID,
                          "%s/" MODULES ": dense module \"%.40s\" is not supported (supported: "
                          "2_Dense, then 3_Dense)",
                          model_path, path ? path : "");
    enum baton_err err = read_file(model_path, name, &root, why);
    if (!err)
        err = add_stage(name, root, config, why);
    baton_json_free(root);
    return err;
}

static enum baton_err read_modules(const char *model_path, const struct baton_json *modules,
                                   struct baton_pooling_config *config, struct baton_why *why)
{
    static const char *const plain[] = {"Transformer", "Pooling", "Normalize"};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < baton_json_size(modules) && !err; i++) {
        const struct baton_json *module = baton_json_at(modules, i);
        const char *class = class_of(module);
        bool is_plain = false;
        for (size_t j = 0; j < BATON_N_OF(plain); j++)
            is_plain = is_plain || !strcmp(class, plain[j]);
        if (!strcmp(class, "Dense"))
            err = read_dense(model_path, module, config, why);
        else if (!is_plain)
            err = baton_fail(why, BATON_INVALID,
                             "%s/" MODULES ": a module of type \"%.40s\" is not supported",
                             model_path, class);
    }
    return err;
}

/* Sets what the files state. An error means that a part of it is not supported. */
static enum baton_err judge(const char *model_path, const struct baton_json *modules,
                            const struct baton_json *pooling, struct baton_pooling_config *config,
                            struct baton_why *why)
{
    enum baton_err err = set_mode(model_path, pooling, config, why);
    return err ? err : read_modules(model_path, modules, config, why);
}

enum baton_err baton_pooling_read(const char *model_path, bool is_strict,
                                  struct baton_pooling_config *config, struct baton_why *why)
{
    struct baton_pooling_config read = {0};
    struct baton_json *modules = NULL, *pooling = NULL;
    struct baton_why reason;
    *config = read;
    if (!baton_model_files_has(model_path, MODULES) || !baton_model_files_has(model_path, POOLING))
        return BATON_OK;
    enum baton_err err = read_file(model_path, MODULES, &modules, why);
    if (!err)
        err = read_file(model_path, POOLING, &pooling, why);
    enum baton_err refused = err ? err : judge(model_path, modules, pooling, &read, &reason);
    if (!err && refused && is_strict)
        err = baton_fail(why, refused, "%s", reason.text);
    /* A decoder has no dense modules, and its first position sees no other. */
    if (!refused && (is_strict || (!read.n_stages && read.pooling != BATON_POOLING_CLS)))
        *config = read;
    baton_json_free(pooling);
    baton_json_free(modules);
    return err;
}
