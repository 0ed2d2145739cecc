/* Refinements of families in which most layers keep a state. */
#include "common/base/array.h"
#include "engine/arch/refine.h"

#define CONFIG struct baton_model_config

/* Without layer_types every full_interval-th layer has attention. */
static bool has_attention(const CONFIG *config, int layer)
{
    return config->n_layer_types ? config->layer_types[layer] != BATON_LAYER_LINEAR
                                 : (layer + 1) % config->full_interval == 0;
}

/* What the kernels take: whole columns of values, and keys by fours. */
static enum baton_err check_state(const struct baton_state_spec *state, struct baton_why *why)
{
    const struct {
        const char *name;
        int size, divisor;
    } rules[] = {
        {"linear_num_value_heads", state->n_heads, state->n_key_heads},
        {"linear_value_head_dim", state->n_values, BATON_STATE_COLUMNS},
        {"linear_key_head_dim", state->n_keys, 4},
    };
    for (size_t i = 0; i < BATON_N_OF(rules); i++)
        if (rules[i].size % rules[i].divisor)
            return baton_fail(why, BATON_INVALID, "%s: must be a multiple of %d, not %d",
                              rules[i].name, rules[i].divisor, rules[i].size);
    return BATON_OK;
}

static enum baton_err require_state(const CONFIG *config, struct baton_why *why)
{
    const int *const sizes[] = {&config->n_taps, &config->n_state_key_heads, &config->n_state_heads,
                                &config->n_state_keys, &config->n_state_values};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < BATON_N_OF(sizes) && !err; i++)
        err = baton_model_config_require(config, sizes[i], why);
    if (!err && !config->n_layer_types)
        err = baton_model_config_require(config, &config->full_interval, why);
    return err;
}

enum baton_err baton_refine_qwen_hybrid(const CONFIG *config, struct baton_spec *spec,
                                        struct baton_why *why)
{
    enum baton_err err = require_state(config, why);
    if (err)
        return err;
    if (!config->out_gate)
        return baton_fail(why, BATON_INVALID,
                          "attn_output_gate: must be true in a model with a gated delta net");
    spec->has_out_gate = true;
    spec->state = (struct baton_state_spec){.n_taps = config->n_taps,
                                            .n_key_heads = config->n_state_key_heads,
                                            .n_heads = config->n_state_heads,
                                            .n_keys = config->n_state_keys,
                                            .n_values = config->n_state_values,
                                            .is_tiled = config->state_is_tiled,
                                            .has_log_rate = !config->gguf_names};
    for (int i = 0; i < spec->n_layers; i++)
        if (!has_attention(config, i))
            spec->layers[i].mixer = BATON_MIXER_DELTA;
    return check_state(&spec->state, why);
}

enum baton_err baton_refine_qwen_hybrid_moe(const CONFIG *config, struct baton_spec *spec,
                                            struct baton_why *why)
{
    enum baton_err err = baton_refine_qwen2_moe(config, spec, why);
    spec->moe.renormalises = true;
    return err ? err : baton_refine_qwen_hybrid(config, spec, why);
}
