#include "engine/arch/layer_sizes.h"

#define CONFIG struct baton_model_config
#define LAYER  struct baton_layer_spec

/* Gemma 4's rules, which per_layer_config replaces: layers without a window have heads of their own
 * size, and, where their keys are their values, another number of KV heads. */
static void set_global_heads(const CONFIG *config, LAYER *layer)
{
    if (layer->window || config->features & BATON_FEATURE(PER_LAYER_CONFIG))
        return;
    if (config->global_head_dim)
        layer->head_dim = config->global_head_dim;
    if (config->k_eq_v && config->n_global_kv_heads)
        layer->n_kv_heads = config->n_global_kv_heads;
}

static void set_own_sizes(const struct baton_layer_sizes *sizes, LAYER *layer)
{
    if (sizes->head_dim)
        layer->head_dim = sizes->head_dim;
    if (sizes->n_kv_heads)
        layer->n_kv_heads = sizes->n_kv_heads;
    if (sizes->n_ff)
        layer->n_ff = sizes->n_ff;
}

static enum baton_err check_heads(const CONFIG *config, const struct baton_spec *spec, int layer,
                                  struct baton_why *why)
{
    int n = spec->layers[layer].n_kv_heads;
    if (spec->n_heads % n == 0)
        return BATON_OK;
    if (config->layer_sizes[layer].n_kv_heads)
        return baton_fail(why, BATON_INVALID,
                          "per_layer_config.%d.num_key_value_heads: must divide the %d heads, not "
                          "%d",
                          layer, spec->n_heads, n);
    return baton_fail(why, BATON_INVALID,
                      "num_global_key_value_heads: must divide the %d heads, not %d", spec->n_heads,
                      n);
}

/* The last layer of this one's type that holds K and V; -1: none. */
static int source_of(const struct baton_spec *spec, int layer, int n_holding)
{
    int source = n_holding - 1;
    while (source >= 0 && !spec->layers[source].window != !spec->layers[layer].window)
        source--;
    return source;
}

/* The last layers read the K and V of the last layer before them that has their type. */
static enum baton_err share_kv(const CONFIG *config, struct baton_spec *spec, struct baton_why *why)
{
    int n_holding = spec->n_layers - config->n_kv_shared;
    if (n_holding < 1)
        return baton_fail(why, BATON_INVALID,
                          "num_kv_shared_layers: must be in 0..%d, below the number of layers, not "
                          "%d",
                          spec->n_layers - 1, config->n_kv_shared);
    for (int i = n_holding; i < spec->n_layers; i++) {
        LAYER *layer = &spec->layers[i];
        layer->kv_from = source_of(spec, i, n_holding);
        if (layer->kv_from < 0)
            return baton_fail(why, BATON_INVALID,
                              "num_kv_shared_layers: layer %d has no layer of its type among the "
                              "first %d, whose K and V it could read",
                              i, n_holding);
        if (config->double_wide_mlp)
            layer->n_ff *= 2;
    }
    return BATON_OK;
}

enum baton_err baton_layer_sizes_set(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (int i = 0; i < spec->n_layers && !err; i++) {
        set_global_heads(config, &spec->layers[i]);
        set_own_sizes(&config->layer_sizes[i], &spec->layers[i]);
        spec->layers[i].values_are_keys = config->k_eq_v && !spec->layers[i].window;
        err = check_heads(config, spec, i, why);
    }
    return err ? err : share_kv(config, spec, why);
}
