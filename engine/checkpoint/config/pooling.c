#include "engine/checkpoint/config/pooling.h"

#include <limits.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/model_files.h"

#define MODULES "modules.json"
#define POOLING "1_Pooling/config.json"

enum { FILE_MAX_BYTES = 1 << 20 };

const char *baton_pooling_name(enum baton_pooling pooling)
{
    static const char *const names[] = {"none", "last", "mean"};
    return names[pooling];
}

static enum baton_err read_file(const char *model_path, const char *name, struct baton_json **root,
                                struct baton_why *why)
{
    char path[PATH_MAX];
    enum baton_err err = baton_file_path(path, model_path, name, why);
    return err ? err : baton_json_read_file(path, FILE_MAX_BYTES, root, why);
}

/* True when nothing but pooling and normalising follows the transformer. */
static bool are_usual(const struct baton_json *modules)
{
    static const char *const usual[] = {".Transformer", ".Pooling", ".Normalize"};
    for (size_t i = 0; i < baton_json_size(modules); i++) {
        const char *type =
            baton_json_string(baton_json_get(baton_json_at(modules, i), "type"), NULL);
        const char *class = type ? strrchr(type, '.') : NULL;
        bool is_known = false;
        for (size_t j = 0; class && j < BATON_N_OF(usual); j++)
            is_known = is_known || !strcmp(class, usual[j]);
        if (!is_known)
            return false;
    }
    return baton_json_size(modules) > 0;
}

/* Returns the one mode that is switched on; NONE when several are, for their vectors would be
 * joined. */
static enum baton_pooling mode_of(const struct baton_json *config)
{
    static const char prefix[] = "pooling_mode_";
    enum baton_pooling pooling = BATON_POOLING_NONE;
    int n_on = 0;
    for (void *it = baton_json_first(config); it; it = baton_json_next(config, it)) {
        const char *key = baton_json_key(it);
        if (strncmp(key, prefix, sizeof prefix - 1) != 0 || !baton_json_bool(baton_json_member(it)))
            continue;
        n_on++;
        pooling = !strcmp(key, "pooling_mode_mean_tokens") ? BATON_POOLING_MEAN
                  : !strcmp(key, "pooling_mode_lasttoken") ? BATON_POOLING_LAST
                                                           : BATON_POOLING_NONE;
    }
    return n_on == 1 ? pooling : BATON_POOLING_NONE;
}

enum baton_err baton_pooling_read(const char *model_path, enum baton_pooling *pooling,
                                  struct baton_why *why)
{
    struct baton_json *modules = NULL, *config = NULL;
    enum baton_err err;
    if (!baton_model_files_has(model_path, MODULES) ||
        !baton_model_files_has(model_path, POOLING)) {
        *pooling = BATON_POOLING_NONE;
        return BATON_OK;
    }
    err = read_file(model_path, MODULES, &modules, why);
    if (err)
        return err;
    err = read_file(model_path, POOLING, &config, why);
    if (!err)
        *pooling = are_usual(modules) ? mode_of(config) : BATON_POOLING_NONE;
    baton_json_free(config);
    baton_json_free(modules);
    return err;
}
