/* Layers of a GGUF model that keep a state. */
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
static enum baton_err put_values(READING *reading, int64_t n_heads)
{
    int64_t inner = 0;
    enum baton_err err = baton_gguf_get_int(reading, "ssm.inner_size", &inner);
    if (!err && (inner < 1 || inner % n_heads))
        return baton_gguf_refuse(reading, "ssm.inner_size", "a multiple of ssm.time_step_rank");
    if (!err)
        baton_json_put_int(&reading->out, "linear_value_head_dim", inner / n_heads);
    return err;
}

enum baton_err baton_gguf_put_states(READING *reading)
{
    const struct baton_gguf_value *flags = baton_gguf_value(reading, "attention.recurrent_layers");
    int64_t n_taps = 0, n_keys = 0, n_key_heads = 0, n_heads = 0, interval = 4;
    if (!(reading->family->traits & BATON_GGUF_STATES))
        return BATON_OK;
    enum baton_err err = put_size(reading, "ssm.conv_kernel", "linear_conv_kernel_dim", &n_taps);
    if (!err)
        err = put_size(reading, "ssm.state_size", "linear_key_head_dim", &n_keys);
    if (!err)
        err = put_size(reading, "ssm.group_count", "linear_num_key_heads", &n_key_heads);
    if (!err)
        err = put_size(reading, "ssm.time_step_rank", "linear_num_value_heads", &n_heads);
    if (!err)
        err = put_values(reading, n_heads);
    if (!err)
        err = put_size(reading, "full_attention_interval", "full_attention_interval", &interval);
    return err || !flags ? err : put_flags(reading, flags);
}
