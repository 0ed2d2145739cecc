#include "common/engine/model/arch.h"

#include <stdio.h>
#include <string.h>

static const struct baton_arch *const archs[] = {&baton_arch_gpt2};

const struct baton_arch *baton_arch_find(const char *model_type)
{
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++)
        if (!strcmp(archs[i]->model_type, model_type))
            return archs[i];
    return NULL;
}

const char *baton_arch_names(char text[BATON_ARCH_NAMES_BYTES])
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof archs / sizeof archs[0] && n < BATON_ARCH_NAMES_BYTES; i++)
        n += (size_t)snprintf(text + n, BATON_ARCH_NAMES_BYTES - n, "%s%s",
                              i ? ", " : "supported: ", archs[i]->model_type);
    return text;
}

enum baton_err baton_arch_configure(const struct baton_model_config *config,
                                    const struct baton_arch **arch, struct baton_model_shape *shape,
                                    struct baton_why *why)
{
    const struct baton_arch *found = baton_arch_find(config->model_type);
    char names[BATON_ARCH_NAMES_BYTES];
    if (!config->model_type[0])
        return baton_fail(why, BATON_INVALID, "model_type: must be given as text");
    if (!found)
        return baton_fail(why, BATON_INVALID, "model_type: \"%.40s\" is not supported (%s)",
                          config->model_type, baton_arch_names(names));
    enum baton_err err = found->configure(config, shape, why);
    if (!err)
        *arch = found;
    return err;
}

static enum baton_err check_range(const char *name, int value, int max, struct baton_why *why)
{
    if (value >= 1 && value <= max)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID, "%s: must be in 1..%d, not %d", name, max, value);
}

enum baton_err baton_arch_check_shape(const struct baton_model_shape *shape, struct baton_why *why)
{
    const struct {
        const char *name;
        int value, max;
    } sizes[] = {
        {"layers", shape->n_layers, BATON_MAX_LAYERS},
        {"width", shape->n_embd, BATON_MAX_WIDTH},
        {"heads", shape->n_heads, BATON_MAX_WIDTH},
        {"KV heads", shape->n_kv_heads, BATON_MAX_WIDTH},
        {"head dimension", shape->head_dim, BATON_MAX_WIDTH},
        {"feed-forward width", shape->n_ff, BATON_MAX_WIDTH},
        {"vocabulary", shape->n_vocab, BATON_MAX_VOCAB},
        {"context", shape->n_context, BATON_MAX_CONTEXT},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        enum baton_err err = check_range(sizes[i].name, sizes[i].value, sizes[i].max, why);
        if (err)
            return err;
    }
    if ((int64_t)shape->n_heads * shape->head_dim > BATON_MAX_WIDTH)
        return baton_fail(why, BATON_INVALID, "%d heads of %d are wider than %d", shape->n_heads,
                          shape->head_dim, BATON_MAX_WIDTH);
    if (shape->n_heads % shape->n_kv_heads)
        return baton_fail(why, BATON_INVALID, "%d KV heads do not divide %d heads",
                          shape->n_kv_heads, shape->n_heads);
    if (!(shape->norm_epsilon > 0 && shape->norm_epsilon < 1))
        return baton_fail(why, BATON_INVALID, "norm epsilon: must be between 0 and 1");
    return BATON_OK;
}
