#include "common/engine/model_config.h"

#include <string.h>

#include "common/base/json.h"
#include "common/engine/model/arch/arch.h"

enum baton_err baton_config_int(const struct baton_json *config, const char *field, bool required,
                                int max, int *value, struct baton_why *why)
{
    const struct baton_json *found = baton_json_get(config, field);
    int64_t number = baton_json_int(found);
    if (baton_json_kind(found) == BATON_JSON_NULL && !required)
        return BATON_OK;
    if (baton_json_kind(found) != BATON_JSON_INT || number < 1 || number > max)
        return baton_fail(why, BATON_INVALID, "%s: must be a whole number in 1..%d", field, max);
    *value = (int)number;
    return BATON_OK;
}

enum baton_err baton_config_bool(const struct baton_json *config, const char *field, bool *value,
                                 struct baton_why *why)
{
    const struct baton_json *found = baton_json_get(config, field);
    if (baton_json_kind(found) == BATON_JSON_NULL)
        return BATON_OK;
    if (baton_json_kind(found) != BATON_JSON_BOOL)
        return baton_fail(why, BATON_INVALID, "%s: must be true or false", field);
    *value = baton_json_bool(found);
    return BATON_OK;
}

static enum baton_err configure(const struct baton_json *root, struct baton_model_config *config,
                                struct baton_why *why)
{
    const char *type = baton_json_string(baton_json_get(root, "model_type"), NULL);
    struct baton_model_config read = {.tied_head = true};
    if (baton_json_kind(root) != BATON_JSON_OBJECT)
        return baton_fail(why, BATON_INVALID, "must hold one JSON object");
    if (!type)
        return baton_fail(why, BATON_INVALID, "model_type: must be given as text");
    read.arch = baton_arch_find(type);
    if (!read.arch)
        return baton_fail(why, BATON_INVALID, "model_type: \"%.40s\" is not supported (%s)", type,
                          baton_arch_names());
    enum baton_err err = baton_config_bool(root, "tie_word_embeddings", &read.tied_head, why);
    if (!err)
        err = read.arch->configure(root, &read.shape, why);
    if (!err)
        *config = read;
    return err;
}

enum baton_err baton_model_config_parse(const void *text, size_t n,
                                        struct baton_model_config *config, struct baton_why *why)
{
    struct baton_json *root;
    enum baton_err err = baton_json_parse(text, n, &root, why);
    if (err)
        return err;
    err = configure(root, config, why);
    baton_json_free(root);
    return err;
}
