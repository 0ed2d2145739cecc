#include "engine/arch/arch.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/arch/families.h"
#include "engine/checkpoint/checkpoint.h"

const struct baton_arch *baton_arch_at(int index)
{
    return index >= 0 && index < baton_n_families ? &baton_families[index] : NULL;
}

const struct baton_arch *baton_arch_find(const char *model_type)
{
    for (int i = 0; i < baton_n_families; i++)
        if (!strcmp(baton_families[i].model_type, model_type))
            return &baton_families[i];
    return NULL;
}

const char *baton_arch_names(char text[BATON_ARCH_NAMES_BYTES])
{
    size_t n = 0;
    for (int i = 0; i < baton_n_families && n < BATON_ARCH_NAMES_BYTES; i++)
        n += (size_t)snprintf(text + n, BATON_ARCH_NAMES_BYTES - n, "%s%s",
                              i ? ", " : "supported: ", baton_families[i].model_type);
    return text;
}

/* Models of pictures and text whose language model is computed alone, and what that may be. */
static const struct {
    const char *wrapper, *model_type;
} wrappers[] = {{"gemma3", "gemma3_text"}, {"mistral3", "mistral"}, {"mistral3", "ministral3"}};

static enum baton_err check_wrapper(const struct baton_model_config *config, struct baton_why *why)
{
    bool is_wrapper = false;
    for (size_t i = 0; i < BATON_N_OF(wrappers); i++) {
        is_wrapper = is_wrapper || !strcmp(wrappers[i].wrapper, config->model_type);
        if (!config->wrapper[0] || (!strcmp(wrappers[i].wrapper, config->wrapper) &&
                                    !strcmp(wrappers[i].model_type, config->model_type)))
            return is_wrapper
                       ? baton_fail(why, BATON_INVALID, "text_config: must be given in a %s model",
                                    config->model_type)
                       : BATON_OK;
    }
    return baton_fail(why, BATON_INVALID,
                      "model_type: \"%.40s\" with a text_config of \"%.40s\" is not supported",
                      config->wrapper, config->model_type);
}

enum baton_err baton_arch_configure(const struct baton_model_config *config, int n_context,
                                    const struct baton_arch **arch, struct baton_spec *spec,
                                    struct baton_why *why)
{
    const struct baton_arch *found = baton_arch_find(config->model_type);
    char names[BATON_ARCH_NAMES_BYTES];
    if (!config->model_type[0])
        return baton_fail(why, BATON_INVALID, "model_type: must be given as text");
    enum baton_err err = check_wrapper(config, why);
    if (!err && !found)
        err = baton_fail(why, BATON_INVALID, "model_type: \"%.40s\" is not supported (%s)",
                         config->model_type, baton_arch_names(names));
    if (!err)
        err = baton_arch_make_spec(found, config, n_context, spec, why);
    if (!err)
        err = baton_spec_check(spec, why);
    if (!err)
        *arch = found;
    return err;
}

enum baton_err baton_arch_configure_model(const struct baton_checkpoint *checkpoint, int n_context,
                                          const struct baton_arch **arch, struct baton_spec *spec,
                                          struct baton_why *why)
{
    struct baton_why reason;
    enum baton_err err = baton_arch_configure(&checkpoint->config, n_context, arch, spec, &reason);
    if (err)
        (void)baton_fail(why, err, "%s: %s", checkpoint->config_path, reason.text);
    return err;
}

static enum baton_err check_range(const char *name, int value, int max, struct baton_why *why)
{
    if (value >= 1 && value <= max)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID, "%s: must be in 1..%d, not %d", name, max, value);
}

/* Attention reads another layer's K and V by this layer's own sizes. */
static enum baton_err check_kv_from(const struct baton_spec *spec, int layer, struct baton_why *why)
{
    const struct baton_layer_spec *of = &spec->layers[layer];
    if (of->kv_from >= 0 && of->kv_from <= layer) {
        const struct baton_layer_spec *from = &spec->layers[of->kv_from];
        if (baton_spec_stores_kv(spec, of->kv_from) && from->n_kv_heads == of->n_kv_heads &&
            from->head_dim == of->head_dim)
            return BATON_OK;
    }
    return baton_fail(why, BATON_INVALID, "layer %d: its K and V cannot be those of layer %d",
                      layer, of->kv_from);
}

static enum baton_err check_layer(const struct baton_spec *spec, int layer, struct baton_why *why)
{
    const struct baton_layer_spec *of = &spec->layers[layer];
    enum baton_err err = check_range("KV heads", of->n_kv_heads, BATON_MAX_WIDTH, why);
    if (!err)
        err = check_range("head dimension", of->head_dim, BATON_MAX_WIDTH, why);
    if (!err && !of->is_moe)
        err = check_range("feed-forward width", of->n_ff, BATON_MAX_WIDTH, why);
    if (err)
        return err;
    if ((int64_t)spec->n_heads * of->head_dim > BATON_MAX_WIDTH)
        return baton_fail(why, BATON_INVALID,
                          "num_attention_heads: %d heads of head_dim %d are wider than %d",
                          spec->n_heads, of->head_dim, BATON_MAX_WIDTH);
    if (spec->n_heads % of->n_kv_heads)
        return baton_fail(why, BATON_INVALID, "%d KV heads do not divide %d heads", of->n_kv_heads,
                          spec->n_heads);
    if (of->rope >= spec->n_ropes ||
        (of->rope >= 0 && spec->ropes[of->rope].n_rotated > of->head_dim))
        return baton_fail(why, BATON_INVALID, "layer %d: heads of %d cannot be rotated so", layer,
                          of->head_dim);
    return check_kv_from(spec, layer, why);
}

static bool has_mixtures(const struct baton_spec *spec)
{
    for (int i = 0; i < spec->n_layers; i++)
        if (spec->layers[i].is_moe)
            return true;
    return false;
}

static enum baton_err check_moe(const struct baton_spec *spec, struct baton_why *why)
{
    const struct baton_moe_spec *moe = &spec->moe;
    enum baton_err err = check_range("experts", moe->n_experts, BATON_MAX_EXPERTS, why);
    if (!err)
        err = check_range("experts of a token", moe->n_chosen, moe->n_experts, why);
    if (!err)
        err = check_range("experts' feed-forward width", moe->n_ff, BATON_MAX_WIDTH, why);
    if (!err && (moe->n_ff_shared < 0 || moe->n_ff_shared > BATON_MAX_WIDTH))
        return baton_fail(why, BATON_INVALID,
                          "shared expert's feed-forward width: must be in 0..%d, not %d",
                          BATON_MAX_WIDTH, moe->n_ff_shared);
    if (!err && spec->mlp != BATON_MLP_GATED)
        return baton_fail(why, BATON_INVALID, "experts must have a gate");
    return err;
}

enum baton_err baton_spec_check(const struct baton_spec *spec, struct baton_why *why)
{
    const struct {
        const char *name;
        int value, max;
    } sizes[] = {
        {"layers", spec->n_layers, BATON_MAX_LAYERS},
        {"width", spec->n_embd, BATON_MAX_WIDTH},
        {"heads", spec->n_heads, BATON_MAX_WIDTH},
        {"vocabulary", spec->n_vocab, BATON_MAX_VOCAB},
        {"context", spec->n_context, BATON_MAX_CONTEXT},
    };
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < BATON_N_OF(sizes) && !err; i++)
        err = check_range(sizes[i].name, sizes[i].value, sizes[i].max, why);
    for (int i = 0; !err && i < spec->n_layers; i++)
        err = check_layer(spec, i, why);
    if (!err && has_mixtures(spec))
        err = check_moe(spec, why);
    if (!err && !(spec->norm_epsilon > 0 && spec->norm_epsilon < 1))
        return baton_fail(why, BATON_INVALID, "norm epsilon: must be between 0 and 1, not %g",
                          (double)spec->norm_epsilon);
    return err;
}
