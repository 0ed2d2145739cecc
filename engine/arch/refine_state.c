/* Refinements of families in which most layers keep a state. */
#include <inttypes.h>
#include <string.h>

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

static enum baton_err require_sizes(const CONFIG *config, struct baton_why *why)
{
    const int *const sizes[] = {&config->n_taps, &config->n_state_key_heads, &config->n_state_heads,
                                &config->n_state_keys, &config->n_state_values};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < BATON_N_OF(sizes) && !err; i++)
        err = baton_model_config_require(config, sizes[i], why);
    return err;
}

static enum baton_err check_types(const CONFIG *config, const enum baton_layer_type *types,
                                  size_t n_types, const char *names, struct baton_why *why);

static enum baton_err require_state(const CONFIG *config, struct baton_why *why)
{
    static const enum baton_layer_type types[] = {BATON_LAYER_LINEAR};
    enum baton_err err = check_types(config, types, 1, "linear_attention, full_attention", why);
    if (!err)
        err = require_sizes(config, why);
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

/* ---- layers of another kind than attention ---- */

/* What a family's layer_types may have beside attention. */
static enum baton_err check_types(const CONFIG *config, const enum baton_layer_type *types,
                                  size_t n_types, const char *names, struct baton_why *why)
{
    for (int i = 0; i < config->n_layer_types; i++) {
        bool fits = config->layer_types[i] == BATON_LAYER_FULL;
        for (size_t k = 0; k < n_types; k++)
            fits = fits || config->layer_types[i] == types[k];
        if (!fits)
            return baton_fail(
                why, BATON_INVALID,
                "layer_types: layer %d has a type that a %s model has not (supported: "
                "%s)",
                i, config->model_type, names);
    }
    return BATON_OK;
}

/* ---- short convolutions ---- */

static int round_up(int n, int multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* F is given as that of a plain MLP of as many weights, of which a gated one has two thirds. */
static enum baton_err set_adjusted_n_ff(const CONFIG *config, struct baton_spec *spec,
                                        struct baton_why *why)
{
    int n_ff = config->block_n_ff ? config->block_n_ff : config->n_ff;
    if (config->adjusts_n_ff) {
        double n = config->ff_multiplier * (double)(2 * n_ff / 3);
        if (n < 1 || n > BATON_MAX_WIDTH - config->ff_multiple)
            return baton_fail(why, BATON_INVALID,
                              "block_ffn_dim_multiplier: must give a width in 1..%d, not %.0f",
                              BATON_MAX_WIDTH - config->ff_multiple, n);
        n_ff = round_up((int)n, config->ff_multiple);
    }
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i].n_ff = n_ff;
    return BATON_OK;
}

enum baton_err baton_refine_lfm2(const CONFIG *config, struct baton_spec *spec,
                                 struct baton_why *why)
{
    static const enum baton_layer_type types[] = {BATON_LAYER_CONV};
    enum baton_err err = check_types(config, types, 1, "conv, full_attention", why);
    if (!err)
        err = baton_model_config_require(config, &config->n_taps, why);
    if (!err)
        err = set_adjusted_n_ff(config, spec, why);
    if (err)
        return err;
    if (config->taps_bias || spec->activation != BATON_ACT_SILU)
        return baton_fail(why, BATON_INVALID, "%s is not supported in a %s model (supported: %s)",
                          config->taps_bias ? "conv_bias: true" : "hidden_act: another than silu",
                          config->model_type, config->taps_bias ? "false" : "silu");
    for (int i = 0; i < config->n_layer_types; i++)
        if (config->layer_types[i] == BATON_LAYER_CONV) {
            spec->layers[i].mixer = BATON_MIXER_SHORT;
            spec->state = (struct baton_state_spec){
                .n_taps = config->n_taps, .n_heads = 1, .n_values = spec->n_embd};
        }
    return BATON_OK;
}

static enum baton_err set_sigmoid_router(const CONFIG *config, bool has_bias,
                                         struct baton_spec *spec, struct baton_why *why)
{
    struct baton_moe_spec *moe = &spec->moe;
    int n_groups = config->n_expert_groups ? config->n_expert_groups : 1, n_kept = n_groups;
    if (config->n_kept_groups)
        n_kept = config->n_kept_groups;
    if (moe->n_experts % n_groups || (n_groups > 1 && moe->n_experts / n_groups < 2))
        return baton_fail(why, BATON_INVALID,
                          "n_group: must divide the %d experts into groups of two or more, not %d",
                          moe->n_experts, n_groups);
    if (n_kept > n_groups || moe->n_chosen > moe->n_experts / n_groups * n_kept)
        return baton_fail(why, BATON_INVALID,
                          "topk_group: must be in 1..%d, and its groups of %d have the %d experts "
                          "of a token, not %d",
                          n_groups, moe->n_experts / n_groups, moe->n_chosen, n_kept);
    moe->renormalises = config->norm_topk_prob;
    moe->has_sigmoid = moe->sums_pairs = true;
    moe->has_score_bias = has_bias;
    moe->n_groups = n_groups;
    moe->n_kept = n_kept;
    moe->scale = (float)config->expert_scale;
    return BATON_OK;
}

enum baton_err baton_refine_lfm2_moe(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    enum baton_err err = baton_refine_lfm2(config, spec, why);
    int n_ff = spec->layers[0].n_ff;
    if (!err)
        err = baton_refine_set_experts(config, config->moe_n_ff, spec, why);
    if (!err)
        err = set_sigmoid_router(config, config->expert_bias, spec, why);
    for (int i = 0; i < spec->n_layers && !err; i++)
        if (i < config->n_dense_layers || config->is_dense[i]) {
            spec->layers[i].is_moe = false;
            spec->layers[i].n_ff = n_ff;
        }
    return err;
}

/* ---- Mamba-2 ---- */

/* Checks sizes by the names that the family's config has. */
static enum baton_err check_mamba(const CONFIG *config, const char *const names[4],
                                  struct baton_why *why)
{
    const struct {
        const char *name;
        int size, multiple, most;
    } rules[] = {
        {names[0], config->n_state_heads, config->n_state_key_heads,
         BATON_MAX_WIDTH / config->n_state_values},
        {names[1], config->n_state_values, 1, BATON_MAX_WIDTH},
        {names[2], config->n_state_key_heads, 1, config->n_state_heads},
        {names[3], config->n_state_keys, 4,
         BATON_MAX_STATE / round_up(config->n_state_values, BATON_STATE_COLUMNS) /
             config->n_state_heads},
    };
    for (size_t i = 0; i < BATON_N_OF(rules); i++)
        if (rules[i].size % rules[i].multiple || rules[i].size > rules[i].most)
            return baton_fail(why, BATON_INVALID, "%s: must be a multiple of %d in 1..%d, not %d",
                              rules[i].name, rules[i].multiple, rules[i].most, rules[i].size);
    if (config->state_proj_bias)
        return baton_fail(why, BATON_INVALID,
                          "mamba_proj_bias: true is not supported in a %s model",
                          config->model_type);
    if (config->state_act[0] && strcmp(config->state_act, "silu") != 0 &&
        strcmp(config->state_act, "swish") != 0)
        return baton_fail(why, BATON_INVALID,
                          "mamba_hidden_act: \"%.40s\" is not supported (supported: silu)",
                          config->state_act);
    return BATON_OK;
}

static enum baton_err set_mamba(const CONFIG *config, const char *const names[4],
                                struct baton_spec *spec, struct baton_why *why)
{
    enum baton_err err = require_sizes(config, why);
    if (!err)
        err = check_mamba(config, names, why);
    spec->state = (struct baton_state_spec){.n_taps = config->n_taps,
                                            .n_key_heads = config->n_state_key_heads,
                                            .n_heads = config->n_state_heads,
                                            .n_keys = config->n_state_keys,
                                            .n_values = config->n_state_values,
                                            .has_log_rate = !config->gguf_names,
                                            .has_taps_bias = config->taps_bias,
                                            .least_write = (float)config->least_time_step,
                                            .most_write = (float)config->most_time_step};
    return err;
}

static bool is_mamba(const CONFIG *config, int layer)
{
    return !config->n_layer_types || config->layer_types[layer] == BATON_LAYER_MAMBA;
}

/* Without layer_types all layers are Mamba's. */
static enum baton_err set_granite_mixers(const CONFIG *config, struct baton_spec *spec,
                                         struct baton_why *why)
{
    static const char *const names[] = {"mamba_n_heads", "mamba_d_head", "mamba_n_groups",
                                        "mamba_d_state"};
    static const enum baton_layer_type types[] = {BATON_LAYER_MAMBA};
    CONFIG sized = *config;
    int64_t width = (int64_t)config->state_expand * config->n_embd;
    enum baton_err err = check_types(config, types, 1, "mamba, attention", why);
    bool has_mamba = false;
    for (int i = 0; i < spec->n_layers; i++)
        has_mamba |= is_mamba(config, i);
    if (err || !has_mamba)
        return err;
    if (!sized.n_state_values && sized.n_state_heads)
        sized.n_state_values = (int)(width / sized.n_state_heads);
    if (width && (int64_t)sized.n_state_values * sized.n_state_heads != width)
        return baton_fail(why, BATON_INVALID,
                          "mamba_d_head: must be such that mamba_n_heads, %d, have mamba_expand "
                          "hidden_size, %" PRId64 ", together, not %d",
                          sized.n_state_heads, width, sized.n_state_values);
    for (int i = 0; i < spec->n_layers; i++)
        if (is_mamba(config, i))
            spec->layers[i].mixer = BATON_MIXER_MAMBA;
    return set_mamba(&sized, names, spec, why);
}

/* A model without experts has its shared expert alone, as a plain MLP. Unlike Granite's own, these
 * models do not rotate unless position_embedding_type says so. */
enum baton_err baton_refine_granitemoehybrid(const CONFIG *config, struct baton_spec *spec,
                                             struct baton_why *why)
{
    enum baton_err err = set_granite_mixers(config, spec, why);
    if (err)
        return err;
    if (!config->position_embedding_type[0])
        for (int i = 0; i < spec->n_layers; i++)
            spec->layers[i].rope = -1;
    if (config->n_experts)
        return baton_refine_granitemoe(config, spec, why);
    if (!config->shared_mlp_n_ff)
        return baton_fail(why, BATON_INVALID,
                          "shared_intermediate_size: must be given, a whole number in 1..%d",
                          BATON_MAX_WIDTH);
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i].n_ff = config->shared_mlp_n_ff;
    return baton_refine_granite(config, spec, why);
}

static enum baton_err set_nemotron_experts(const CONFIG *config, struct baton_spec *spec,
                                           struct baton_why *why)
{
    enum baton_err err = baton_refine_set_experts(config, config->moe_n_ff, spec, why);
    if (!err && config->n_shared_experts != 1)
        err = baton_fail(why, BATON_INVALID, "n_shared_experts: must be 1, not %d",
                         config->n_shared_experts);
    if (!err && !config->moe_shared_n_ff)
        err = baton_model_config_require(config, &config->moe_shared_n_ff, why);
    if (!err && config->moe_latent)
        err = baton_fail(why, BATON_INVALID, "moe_latent_size: %d is not supported",
                         config->moe_latent);
    if (!err)
        err = set_sigmoid_router(config, true, spec, why);
    spec->moe.n_ff_shared = config->moe_shared_n_ff;
    spec->moe.has_no_biases = true;
    return err;
}

/* A layer is its mixer or its feed-forward part. */
static void set_part(const CONFIG *config, struct baton_layer_spec *layer, int type)
{
    layer->is_moe = type == BATON_LAYER_MOE;
    layer->has_no_ff = type == BATON_LAYER_FULL || type == BATON_LAYER_MAMBA;
    layer->n_ff = type == BATON_LAYER_MLP ? config->n_ff : 0;
    layer->rope = -1;
    if (type == BATON_LAYER_MAMBA)
        layer->mixer = BATON_MIXER_MAMBA;
    if (!layer->has_no_ff) {
        layer->mixer = BATON_MIXER_NONE;
        layer->kv_from = -1;
    }
}

enum baton_err baton_refine_nemotron_h(const CONFIG *config, struct baton_spec *spec,
                                       struct baton_why *why)
{
    static const char *const names[] = {"mamba_num_heads", "mamba_head_dim", "n_groups",
                                        "ssm_state_size"};
    static const enum baton_layer_type types[] = {BATON_LAYER_MAMBA, BATON_LAYER_MLP,
                                                  BATON_LAYER_MOE};
    enum baton_err err = check_types(config, types, 3, "mamba, attention, mlp, moe", why);
    bool has_experts = false, has_mamba = false;
    if (!config->n_layer_types)
        return baton_fail(why, BATON_INVALID,
                          "hybrid_override_pattern (layers_block_type): must be given");
    for (int i = 0; i < spec->n_layers; i++) {
        has_experts |= config->layer_types[i] == BATON_LAYER_MOE;
        has_mamba |= config->layer_types[i] == BATON_LAYER_MAMBA;
    }
    if (!err && has_experts)
        err = set_nemotron_experts(config, spec, why);
    if (!err && has_mamba)
        err = set_mamba(config, names, spec, why);
    for (int i = 0; i < spec->n_layers && !err; i++)
        set_part(config, &spec->layers[i], config->layer_types[i]);
    spec->n_ropes = 0;
    return err;
}
