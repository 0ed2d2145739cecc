/* Layers of a GGUF model that keep a state. */
#include <inttypes.h>
#include <stdio.h>

#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/gguf/config_internal.h"

#define READING struct baton_gguf_reading

/* A flag for every layer, true where it keeps a state. */
static enum baton_err put_flags(READING *reading, const struct baton_gguf_value *flags)
{
    bool keeps = false;
    if (!flags->is_array || flags->n < (uint64_t)reading->n_layers ||
        flags->type != BATON_GGUF_BOOL)
        return baton_gguf_refuse(reading, "attention.recurrent_layers", "a flag for every layer");
    baton_json_open(&reading->out, "layer_types", '[');
    for (int64_t i = 0; i < reading->n_layers; i++) {
        const struct baton_gguf_value flag = baton_gguf_item(flags, (uint64_t)i);
        (void)baton_gguf_flag(&flag, &keeps);
        baton_json_put_string(&reading->out, NULL, keeps ? "linear_attention" : "full_attention");
    }
    baton_json_close(&reading->out, ']');
    return BATON_OK;
}

static enum baton_err put_size(READING *reading, const char *key, const char *name, int64_t *size)
{
    enum baton_err err = baton_gguf_get_int(reading, key, size);
    if (!err && (*size < 1 || *size > BATON_MAX_WIDTH))
        return baton_gguf_refuse(reading, key, "given, a whole number in 1..131072");
    if (!err)
        baton_json_put_int(&reading->out, name, *size);
    return err;
}

/* The width of all value heads together gives that of one. */
static enum baton_err put_values(READING *reading, int64_t n_heads, const char *name)
{
    int64_t inner = 0;
    enum baton_err err = baton_gguf_get_int(reading, "ssm.inner_size", &inner);
    if (!err && (inner < 1 || inner % n_heads))
        return baton_gguf_refuse(reading, "ssm.inner_size", "a multiple of ssm.time_step_rank");
    if (!err)
        baton_json_put_int(&reading->out, name, inner / n_heads);
    return err;
}

static enum baton_err put_delta(READING *reading)
{
    const struct baton_gguf_value *flags = baton_gguf_value(reading, "attention.recurrent_layers");
    int64_t n_taps = 0, n_keys = 0, n_key_heads = 0, n_heads = 0, interval = 4;
    enum baton_err err = put_size(reading, "ssm.conv_kernel", "linear_conv_kernel_dim", &n_taps);
    if (!err)
        err = put_size(reading, "ssm.state_size", "linear_key_head_dim", &n_keys);
    if (!err)
        err = put_size(reading, "ssm.group_count", "linear_num_key_heads", &n_key_heads);
    if (!err)
        err = put_size(reading, "ssm.time_step_rank", "linear_num_value_heads", &n_heads);
    if (!err)
        err = put_values(reading, n_heads, "linear_value_head_dim");
    if (!err)
        err = put_size(reading, "full_attention_interval", "full_attention_interval", &interval);
    return err || !flags ? err : put_flags(reading, flags);
}

/* ---- layers that have no KV heads ---- */

static const char kv_heads[] = "attention.head_count_kv";

static bool lists_kv_heads(const READING *reading)
{
    return reading->family->traits & (BATON_GGUF_CONV | BATON_GGUF_MAMBA);
}

/* Those of one layer; without the key all heads of each are. */
static enum baton_err get_kv_heads_of(const READING *reading, int64_t layer, int64_t *n)
{
    *n = reading->n_heads;
    return baton_gguf_get_layer_int(reading, kv_heads, layer, n);
}

enum baton_err baton_gguf_get_kv_heads(const READING *reading, int64_t *n_kv_heads)
{
    int64_t found = 0, n;
    if (!lists_kv_heads(reading))
        return baton_gguf_get_int(reading, kv_heads, n_kv_heads);
    for (int64_t i = 0; i < reading->n_layers; i++) {
        enum baton_err err = get_kv_heads_of(reading, i, &n);
        if (err)
            return err;
        if (n < 0 || (n && found && n != found))
            return baton_gguf_refuse(reading, kv_heads, "0, or the same in all layers with some");
        found = n ? n : found;
    }
    *n_kv_heads = found ? found : reading->n_heads;
    return BATON_OK;
}

/* A layer that has no attention. Of those with one part each, one without an MLP is Mamba's. */
static enum baton_err get_type(const READING *reading, int64_t layer, const char **type)
{
    char router[BATON_GGUF_KEY_BYTES];
    int64_t n_ff = 0;
    *type = reading->family->traits & BATON_GGUF_CONV ? "conv" : "mamba";
    if (!(reading->family->traits & BATON_GGUF_ONE_PART))
        return BATON_OK;
    enum baton_err err = baton_gguf_get_layer_int(reading, "feed_forward_length", layer, &n_ff);
    (void)snprintf(router, sizeof router, "blk.%" PRId64 ".ffn_gate_inp.weight", layer);
    if (!err && n_ff)
        *type = baton_gguf_has(reading, router) ? "moe" : "mlp";
    return err;
}

static enum baton_err put_types(READING *reading)
{
    enum baton_err err = BATON_OK;
    baton_json_open(&reading->out, "layer_types", '[');
    for (int64_t i = 0; i < reading->n_layers && !err; i++) {
        const char *type = "full_attention";
        int64_t n = 0;
        err = get_kv_heads_of(reading, i, &n);
        if (!err && !n)
            err = get_type(reading, i, &type);
        baton_json_put_string(&reading->out, NULL, type);
    }
    baton_json_close(&reading->out, ']');
    return err;
}

static enum baton_err put_conv(READING *reading)
{
    int64_t n_taps = 0;
    enum baton_err err = put_size(reading, "shortconv.l_cache", "conv_L_cache", &n_taps);
    baton_json_put_bool(&reading->out, "block_auto_adjust_ff_dim", false);
    return err ? err : put_types(reading);
}

static enum baton_err put_mamba(READING *reading)
{
    int64_t n_taps = 0, n_keys = 0, n_groups = 0, n_heads = 0;
    enum baton_err err = put_types(reading);
    if (!err)
        err = put_size(reading, "ssm.conv_kernel", "mamba_d_conv", &n_taps);
    if (!err)
        err = put_size(reading, "ssm.state_size", "mamba_d_state", &n_keys);
    if (!err)
        err = put_size(reading, "ssm.group_count", "mamba_n_groups", &n_groups);
    if (!err)
        err = put_size(reading, "ssm.time_step_rank", "mamba_n_heads", &n_heads);
    if (!err)
        err = put_values(reading, n_heads, "mamba_d_head");
    baton_json_put_null(&reading->out, "mamba_expand");
    baton_json_put_bool(&reading->out, "mamba_conv_bias",
                        baton_gguf_layer_with(reading, "ssm_conv1d.bias") >= 0);
    return err;
}

/* A router of sigmoids, and the numbers that it has beside one of a softmax. */
static enum baton_err put_sigmoid(READING *reading)
{
    static const char *const refused[] = {"moe_latent_size", "expert_latent_length"};
    int64_t kind = 2, n_groups = 0, n_chosen = 0, n_latent = 0;
    double scale = 0;
    enum baton_err err = baton_gguf_get_int(reading, "expert_gating_func", &kind);
    if (!err && kind != 2)
        return baton_gguf_refuse(reading, "expert_gating_func", "2, a sigmoid");
    for (size_t i = 0; i < sizeof refused / sizeof *refused && !err; i++) {
        err = baton_gguf_get_int(reading, refused[i], &n_latent);
        if (!err && n_latent)
            return baton_gguf_refuse(reading, refused[i], "0");
    }
    if (!err)
        err = baton_gguf_get_int(reading, "expert_group_count", &n_groups);
    n_chosen = n_groups;
    if (!err)
        err = baton_gguf_get_int(reading, "expert_group_used_count", &n_chosen);
    if (!err)
        err = baton_gguf_get_real(reading, "expert_weights_scale", &scale);
    if (err)
        return err;
    baton_json_put_int(&reading->out, "n_group", n_groups);
    baton_json_put_int(&reading->out, "topk_group", n_chosen);
    if (scale != 0)
        baton_json_put_exact(&reading->out, "routed_scaling_factor", scale);
    baton_json_put_int(&reading->out, "num_dense_layers", 0); /* tensors say which they are */
    baton_json_put_bool(&reading->out, "use_expert_bias",
                        baton_gguf_layer_with(reading, "exp_probs_b.bias") >= 0);
    return BATON_OK;
}

enum baton_err baton_gguf_put_states(READING *reading)
{
    unsigned traits = reading->family->traits;
    enum baton_err err = BATON_OK;
    if (traits & BATON_GGUF_STATES)
        return put_delta(reading);
    if (traits & BATON_GGUF_CONV)
        err = put_conv(reading);
    else if (traits & BATON_GGUF_MAMBA)
        err = put_mamba(reading);
    return !err && traits & BATON_GGUF_SIGMOID ? put_sigmoid(reading) : err;
}
