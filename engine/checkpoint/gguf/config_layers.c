/* Gemma 4's files, whose sizes differ by layer: some keys are lists, and layers with a window have
 * keys of their own. Their config.json says the same in per_layer_config. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/gguf/config_internal.h"
#include "engine/checkpoint/tensor.h"

#define READING struct baton_gguf_reading

/* The divisors of pairs that turn and of pairs that do not, in rope_freqs.weight. */
static const float turns = 1, stands = 1e30F;

enum baton_err baton_gguf_get_layer_int(const READING *reading, const char *name, int64_t layer,
                                        int64_t *number)
{
    const struct baton_gguf_value *value = baton_gguf_value(reading, name);
    struct baton_gguf_value item;
    if (!value || !value->is_array)
        return baton_gguf_get_int(reading, name, number);
    if (value->type == BATON_GGUF_TEXT || value->n < (uint64_t)reading->n_layers)
        return baton_gguf_refuse(reading, name, "a whole number, or one for every layer");
    item = baton_gguf_item(value, (uint64_t)layer);
    return baton_gguf_int(&item, number)
               ? BATON_OK
               : baton_gguf_refuse(reading, name, "a whole number, or one for every layer");
}

/* Whether a layer has a window; without a pattern every sixth has none. */
static bool is_local(const READING *reading, int64_t layer)
{
    const struct baton_gguf_value *pattern =
        baton_gguf_value(reading, "attention.sliding_window_pattern");
    int64_t n = 6;
    bool local = false;
    if (layer == reading->n_layers - 1)
        return false;
    if (pattern && pattern->is_array && (uint64_t)layer < pattern->n) {
        struct baton_gguf_value flag = baton_gguf_item(pattern, (uint64_t)layer);
        return baton_gguf_flag(&flag, &local) && local;
    }
    (void)baton_gguf_int(pattern, &n);
    return n > 0 && (layer + 1) % n;
}

/* Reads one size that keys and values share, given as NAME or, for layers with a window,
 * NAME_swa. */
static enum baton_err get_head_dim(const READING *reading, const char *keys, const char *values,
                                   int64_t *head_dim)
{
    int64_t value_dim;
    enum baton_err err = baton_gguf_get_int(reading, keys, head_dim);
    value_dim = *head_dim;
    if (!err)
        err = baton_gguf_get_int(reading, values, &value_dim);
    if (!err && value_dim != *head_dim)
        err = baton_gguf_refuse(reading, values, "the same as that of the keys");
    return err;
}

static enum baton_err get_head_dims(const READING *reading, int64_t dims[2])
{
    dims[0] = reading->n_embd / reading->n_heads;
    enum baton_err err =
        get_head_dim(reading, "attention.key_length", "attention.value_length", &dims[0]);
    dims[1] = dims[0];
    return err ? err
               : get_head_dim(reading, "attention.key_length_swa", "attention.value_length_swa",
                              &dims[1]);
}

static enum baton_err put_layer(READING *reading, int64_t layer, const int64_t head_dims[2])
{
    struct baton_json_out *out = &reading->out;
    int64_t n_kv_heads = reading->n_heads, n_ff = 0;
    char number[24];
    enum baton_err err =
        baton_gguf_get_layer_int(reading, "attention.head_count_kv", layer, &n_kv_heads);
    if (!err)
        err = baton_gguf_get_layer_int(reading, "feed_forward_length", layer, &n_ff);
    if (err)
        return err;
    (void)snprintf(number, sizeof number, "%" PRId64, layer);
    baton_json_open(out, number, '{');
    baton_json_put_int(out, "head_dim", head_dims[is_local(reading, layer)]);
    baton_json_put_int(out, "num_key_value_heads", n_kv_heads);
    baton_json_put_int(out, "intermediate_size", n_ff);
    baton_json_close(out, '}');
    return BATON_OK;
}

/* Whether the first layer without a window has no values: they are its keys. */
static bool values_are_keys(const READING *reading)
{
    char name[64];
    int64_t layer = 0;
    while (is_local(reading, layer))
        layer++;
    (void)snprintf(name, sizeof name, "blk.%" PRId64 ".attn_v.weight", layer);
    return !baton_gguf_has(reading, name);
}

enum baton_err baton_gguf_put_layers(READING *reading)
{
    struct baton_json_out *out = &reading->out;
    const struct baton_tensor *table =
        baton_gguf_model_find(reading->model, "per_layer_token_embd.weight");
    int64_t head_dims[2], n_shared = 0, n_per_layer = 0;
    enum baton_err err = get_head_dims(reading, head_dims);
    if (!err)
        err = baton_gguf_get_int(reading, "attention.shared_kv_layers", &n_shared);
    if (!err)
        err = baton_gguf_get_int(reading, "embedding_length_per_layer_input", &n_per_layer);
    if (err)
        return err;
    baton_json_put_int(out, "head_dim", head_dims[1]);
    baton_json_put_int(out, "num_kv_shared_layers", n_shared);
    baton_json_put_int(out, "hidden_size_per_layer_input", n_per_layer);
    if (table && table->n_dims == 2)
        baton_json_put_int(out, "vocab_size_per_layer_input", table->shape[0]);
    else
        baton_json_put_null(out, "vocab_size_per_layer_input");
    baton_json_put_bool(out, "attention_k_eq_v", values_are_keys(reading));
    baton_json_open(out, "per_layer_config", '{');
    for (int64_t i = 0; i < reading->n_layers && !err; i++)
        err = put_layer(reading, i, head_dims);
    baton_json_close(out, '}');
    return err;
}

/* ---- rotation ---- */

/* The number of pairs that turn, which come first. */
static enum baton_err count_turning(const READING *reading, int64_t n_pairs, int64_t *n)
{
    static const char name[] = "rope_freqs.weight";
    const struct baton_tensor *divisors = baton_gguf_model_find(reading->model, name);
    *n = n_pairs;
    if (!divisors)
        return BATON_OK;
    if (divisors->dtype != BATON_ELEMENT_F32 || divisors->n_dims != 1 ||
        divisors->shape[0] != n_pairs)
        return baton_fail(reading->why, BATON_INVALID,
                          "tensor %s: must be a list of %" PRId64 " numbers in F32", name, n_pairs);
    *n = 0;
    while (*n < n_pairs && baton_gguf_factor(divisors, *n) == turns)
        ++*n;
    for (int64_t i = *n; i < n_pairs; i++)
        if (!(baton_gguf_factor(divisors, i) >= stands))
            return baton_fail(reading->why, BATON_INVALID,
                              "tensor %s: must hold ones, then 1e30, not %g", name,
                              (double)baton_gguf_factor(divisors, i));
    return BATON_OK;
}

static enum baton_err check_whole(const READING *reading, const char *name, int64_t head_dim)
{
    int64_t n = head_dim;
    enum baton_err err = baton_gguf_get_int(reading, name, &n);
    return !err && n != head_dim ? baton_gguf_refuse(reading, name, "the size of a head") : err;
}

static void put_type(struct baton_json_out *out, const char *type, const char *rope, double theta,
                     double share)
{
    baton_json_open(out, type, '{');
    baton_json_put_string(out, "rope_type", rope);
    baton_json_put_exact(out, "rope_theta", theta);
    baton_json_put_exact(out, "partial_rotary_factor", share);
    baton_json_close(out, '}');
}

enum baton_err baton_gguf_put_layer_ropes(READING *reading)
{
    struct baton_json_out *out = &reading->out;
    int64_t head_dims[2], n_turning = 0;
    double theta = 1e6, local = 1e4;
    enum baton_err err = get_head_dims(reading, head_dims);
    if (!err)
        err = check_whole(reading, "rope.dimension_count", head_dims[0]);
    if (!err)
        err = check_whole(reading, "rope.dimension_count_swa", head_dims[1]);
    if (!err)
        err = count_turning(reading, head_dims[0] / 2, &n_turning);
    if (!err)
        err = baton_gguf_get_real(reading, "rope.freq_base", &theta);
    if (!err)
        err = baton_gguf_get_real(reading, "rope.freq_base_swa", &local);
    if (err)
        return err;
    if (!n_turning || baton_gguf_value(reading, "rope.scaling.factor"))
        return baton_gguf_refuse(reading, "rope.scaling.factor",
                                 "left out, and rope_freqs.weight have pairs that turn");
    baton_json_open(out, "rope_parameters", '{');
    /* A half more: the share is rounded down to pairs. */
    put_type(out, "full_attention", "proportional", theta,
             fmin(1, ((double)(2 * n_turning) + 0.5) / (double)head_dims[0]));
    put_type(out, "sliding_attention", "default", local, 1);
    baton_json_close(out, '}');
    return BATON_OK;
}
