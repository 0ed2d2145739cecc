/* Sizes of a GGUF model, and the flags that its tensors imply. */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/array.h"
#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/gguf/config_internal.h"
#include "engine/checkpoint/tensor.h"

#define READING struct baton_gguf_reading

/* ---- sizes ---- */

static enum baton_err need(const READING *reading, const char *name, int64_t max, int64_t *number)
{
    char key[BATON_GGUF_KEY_BYTES];
    if (!baton_gguf_value(reading, name))
        return baton_gguf_refuse(reading, name, "given");
    enum baton_err err = baton_gguf_get_int(reading, name, number);
    if (!err && (*number < 1 || *number > max))
        return baton_fail(reading->why, BATON_INVALID,
                          "%s: must be in 1..%" PRId64 ", not %" PRId64,
                          baton_gguf_key(reading, name, key), max, *number);
    return err;
}

/* Writes the one size of keys and values: key_length, or the width divided by the heads. */
static enum baton_err put_head_dim(READING *reading)
{
    int64_t values;
    if (reading->n_embd % reading->n_heads == 0)
        reading->head_dim = reading->n_embd / reading->n_heads;
    enum baton_err err = baton_gguf_get_int(reading, "attention.key_length", &reading->head_dim);
    values = reading->head_dim;
    if (!err)
        err = baton_gguf_get_int(reading, "attention.value_length", &values);
    if (!err && values != reading->head_dim)
        err = baton_gguf_refuse(reading, "attention.value_length",
                                "the same as attention.key_length");
    if (!err && reading->head_dim)
        baton_json_put_int(&reading->out, "head_dim", reading->head_dim);
    return err;
}

/* Writes the number of embeddings: a tokenizer may have fewer tokens. */
static enum baton_err put_vocabulary(READING *reading)
{
    const struct baton_tensor *embedding =
        baton_gguf_model_find(reading->model, "token_embd.weight");
    const struct baton_gguf_value *tokens =
        baton_gguf_find(baton_gguf_model_metadata(reading->model), "tokenizer.ggml.tokens");
    int64_t n = tokens && tokens->is_array ? (int64_t)tokens->n : 0;
    enum baton_err err = baton_gguf_get_int(reading, "vocab_size", &n);
    if (!err && embedding && embedding->n_dims == 2)
        n = embedding->shape[0];
    if (!err && n)
        baton_json_put_int(&reading->out, "vocab_size", n);
    return err;
}

/* Leaves out the last layers, which draft tokens and are not computed. */
static enum baton_err drop_drafting(READING *reading)
{
    int64_t n = 0;
    if (!(reading->family->traits & (BATON_GGUF_STATES | BATON_GGUF_LATENTS)))
        return BATON_OK;
    enum baton_err err = baton_gguf_get_int(reading, "nextn_predict_layers", &n);
    if (!err && (n < 0 || n >= reading->n_layers))
        return baton_gguf_refuse(reading, "nextn_predict_layers",
                                 "a whole number below block_count");
    reading->n_layers -= n;
    return err;
}

enum baton_err baton_gguf_put_sizes(READING *reading)
{
    struct baton_json_out *out = &reading->out;
    bool by_layer = reading->family->traits & BATON_GGUF_BY_LAYER;
    int64_t n_context = 0, n_kv_heads;
    enum baton_err err = need(reading, "block_count", BATON_MAX_LAYERS, &reading->n_layers);
    if (!err)
        err = drop_drafting(reading);
    if (!err)
        err = need(reading, "embedding_length", BATON_MAX_WIDTH, &reading->n_embd);
    if (!err)
        err = need(reading, "attention.head_count", BATON_MAX_WIDTH, &reading->n_heads);
    if (!err)
        err = need(reading, "context_length", BATON_MAX_CONTEXT, &n_context);
    n_kv_heads = reading->n_heads;
    if (!err)
        err = by_layer
                  ? baton_gguf_get_layer_int(reading, "attention.head_count_kv", 0, &n_kv_heads)
                  : baton_gguf_get_kv_heads(reading, &n_kv_heads);
    if (err)
        return err;
    baton_json_put_int(out, "num_hidden_layers", reading->n_layers);
    baton_json_put_int(out, "hidden_size", reading->n_embd);
    baton_json_put_int(out, "num_attention_heads", reading->n_heads);
    baton_json_put_int(out, "num_key_value_heads", n_kv_heads);
    baton_json_put_int(out, "max_position_embeddings", n_context);
    err = by_layer                                       ? baton_gguf_put_layers(reading)
          : reading->family->traits & BATON_GGUF_LATENTS ? baton_gguf_put_latent_heads(reading)
                                                         : put_head_dim(reading);
    return err ? err : put_vocabulary(reading);
}

enum baton_err baton_gguf_put_epsilon(READING *reading)
{
    static const char *const names[] = {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon",
                                        "norm_epsilon"};
    double epsilon = 0;
    if (!baton_gguf_value(reading, reading->family->epsilon))
        return baton_gguf_refuse(reading, reading->family->epsilon, "given");
    enum baton_err err = baton_gguf_get_real(reading, reading->family->epsilon, &epsilon);
    /* A family reads one of these names; the others are ignored. */
    for (size_t i = 0; i < BATON_N_OF(names); i++)
        baton_json_put_exact(&reading->out, names[i], epsilon);
    return err;
}

/* ---- feed-forward ---- */

int64_t baton_gguf_layer_with(const READING *reading, const char *name)
{
    char in_layer[BATON_GGUF_KEY_BYTES];
    for (int64_t i = 0; i < reading->n_layers; i++) {
        (void)snprintf(in_layer, sizeof in_layer, "blk.%" PRId64 ".%s", i, name);
        if (baton_gguf_has(reading, in_layer))
            return i;
    }
    return -1;
}

/* Returns the rows of an expert's matrices, in the first layer that has some; 0: none has. */
static int64_t width_of(const READING *reading, const char *name)
{
    char in_layer[BATON_GGUF_KEY_BYTES];
    (void)snprintf(in_layer, sizeof in_layer, "blk.%" PRId64 ".%s",
                   baton_gguf_layer_with(reading, name), name);
    const struct baton_tensor *tensor = baton_gguf_model_find(reading->model, in_layer);
    return tensor && tensor->n_dims >= 2 ? tensor->shape[tensor->n_dims - 2] : 0;
}

/* Lists the dense layers of a mixture, which have a gate of their own. */
static void put_dense_layers(READING *reading)
{
    char name[64];
    baton_json_open(&reading->out, "mlp_only_layers", '[');
    for (int i = 0; i < (int)reading->n_layers; i++) {
        (void)snprintf(name, sizeof name, "blk.%d.ffn_gate.weight", i);
        if (baton_gguf_has(reading, name))
            baton_json_put_int(&reading->out, NULL, i);
    }
    baton_json_close(&reading->out, ']');
}

static const char *name_of_shared(unsigned traits)
{
    return traits & BATON_GGUF_GRANITE    ? "shared_intermediate_size"
           : traits & BATON_GGUF_ONE_PART ? "moe_shared_expert_intermediate_size"
                                          : "shared_expert_intermediate_size";
}

static enum baton_err put_experts(READING *reading, int64_t n_experts)
{
    struct baton_json_out *out = &reading->out;
    /* The tensors' widths are the defaults: older files lack the keys. */
    int64_t n_chosen = 0, n_shared = width_of(reading, "ffn_up_shexp.weight");
    bool renormalises = reading->family->traits & BATON_GGUF_RENORMALISES;
    enum baton_err err = baton_gguf_get_int(reading, "expert_used_count", &n_chosen);
    if (!err)
        err = baton_gguf_get_int(reading, "expert_shared_feed_forward_length", &n_shared);
    if (err)
        return err;
    if (baton_gguf_value(reading, "expert_weights_norm") &&
        !baton_gguf_flag(baton_gguf_value(reading, "expert_weights_norm"), &renormalises))
        return baton_gguf_refuse(reading, "expert_weights_norm", "true or false");
    baton_json_put_int(out, "num_local_experts", n_experts);
    baton_json_put_int(out, "num_experts_per_tok", n_chosen);
    baton_json_put_bool(out, "norm_topk_prob", renormalises);
    if (!(reading->family->traits & BATON_GGUF_BY_LAYER)) /* whose layers all have a dense MLP */
        put_dense_layers(reading);
    if (n_shared && !(reading->family->traits & BATON_GGUF_LATENTS)) /* put_router does */
        baton_json_put_int(out, name_of_shared(reading->family->traits), n_shared);
    return BATON_OK;
}

/* Of layers with one part each, those with a plain MLP have the one width of these. */
static enum baton_err get_n_ff(const READING *reading, int64_t *n_ff)
{
    static const char name[] = "feed_forward_length";
    const struct baton_gguf_value *value = baton_gguf_value(reading, name);
    unsigned traits = reading->family->traits;
    int64_t layer = 0;
    if (!value || !value->is_array || !(traits & (BATON_GGUF_BY_LAYER | BATON_GGUF_ONE_PART)))
        return baton_gguf_get_int(reading, name, n_ff);
    if (traits & BATON_GGUF_ONE_PART)
        layer = baton_gguf_layer_with(reading, "ffn_up.weight");
    return layer < 0 ? BATON_OK : baton_gguf_get_layer_int(reading, name, layer, n_ff);
}

/* Writes that a family of mixtures has none, and what its shared expert's width is then. */
static void put_no_experts(READING *reading, int64_t n_ff)
{
    if (!(reading->family->traits & BATON_GGUF_MAMBA))
        return;
    baton_json_put_int(&reading->out, "num_local_experts", 0);
    baton_json_put_int(&reading->out, "num_experts_per_tok", 0);
    if (reading->family->traits & BATON_GGUF_GRANITE)
        baton_json_put_int(&reading->out, "shared_intermediate_size", n_ff);
}

enum baton_err baton_gguf_put_mlp(READING *reading)
{
    int64_t n_experts = 0, n_ff = 0, n_ff_expert;
    bool by_layer = reading->family->traits & BATON_GGUF_BY_LAYER;
    enum baton_err err = baton_gguf_get_int(reading, "expert_count", &n_experts);
    if (!err)
        err = get_n_ff(reading, &n_ff);
    if (by_layer)
        baton_json_put_bool(&reading->out, "enable_moe_block", n_experts);
    n_ff_expert = width_of(reading, "ffn_up_exps.weight");
    if (!n_ff_expert)
        n_ff_expert = width_of(reading, "ffn_gate_up_exps.weight") / 2;
    if (!err)
        err = baton_gguf_get_int(reading, "expert_feed_forward_length", &n_ff_expert);
    if (err)
        return err;
    if (n_experts && n_ff_expert && reading->family->traits & BATON_GGUF_ONE_WIDTH)
        n_ff = n_ff_expert;
    else if (n_experts && n_ff_expert)
        baton_json_put_int(&reading->out, "moe_intermediate_size", n_ff_expert);
    if (!n_ff && reading->family->traits & BATON_GGUF_ONE_PART)
        n_ff = n_ff_expert ? n_ff_expert : 1; /* of layers that the model has not */
    if (!n_ff && !n_experts)
        return baton_gguf_refuse(reading, "feed_forward_length", "given");
    if (n_ff)
        baton_json_put_int(&reading->out, "intermediate_size", n_ff);
    if (!n_experts)
        put_no_experts(reading, n_ff);
    return n_experts ? put_experts(reading, n_experts) : BATON_OK;
}

/* ---- flags by the tensors present ---- */

void baton_gguf_put_flags(READING *reading)
{
    const unsigned traits = reading->family->traits;
    const bool biased = baton_gguf_layer_with(reading, "attn_q.bias") >= 0 ||
                        baton_gguf_layer_with(reading, "attn_qkv.bias") >= 0;
    const struct {
        unsigned trait;
        const char *name;
        bool flag;
    } flags[] = {
        {BATON_GGUF_ATTENTION_BIAS, "attention_bias", biased},
        {BATON_GGUF_OUT_BIAS, "attention_out_bias",
         baton_gguf_layer_with(reading, "attn_output.bias") >= 0},
        {BATON_GGUF_USE_BIAS, "use_bias", biased},
        {BATON_GGUF_QKV_BIAS, "qkv_bias", biased},
        {BATON_GGUF_MLP_BIAS, "mlp_bias", baton_gguf_layer_with(reading, "ffn_down.bias") >= 0},
        {BATON_GGUF_HEAD_NORM, "use_qk_norm",
         baton_gguf_layer_with(reading, "attn_q_norm.weight") >= 0},
    };
    for (size_t i = 0; i < BATON_N_OF(flags); i++)
        if (traits & flags[i].trait)
            baton_json_put_bool(&reading->out, flags[i].name, flags[i].flag);
    baton_json_put_bool(&reading->out, "tie_word_embeddings",
                        !baton_gguf_has(reading, "output.weight"));
}
