/* GPT-2 as Hugging Face's GPT2LMHeadModel computes it: learned positions, pre-norm blocks, Conv1D
 * matrices stored [in][out], gelu_new, the head tied to the token embedding. */
#include <stddef.h>
#include <string.h>

#include "common/engine/model/arch.h"
#include "common/engine/model/tensor_rows.h"

static enum baton_err check_activation(const char *name, struct baton_why *why)
{
    /* Where none is given it is gelu_new. */
    if (*name && strcmp(name, "gelu_new") != 0 && strcmp(name, "gelu_pytorch_tanh") != 0)
        return baton_fail(why, BATON_INVALID,
                          "activation_function: \"%.40s\" is not supported (supported: gelu_new)",
                          name);
    return BATON_OK;
}

static enum baton_err check_variants(const struct baton_model_config *config, struct baton_why *why)
{
    const struct {
        const char *field;
        bool value, computed;
    } flags[] = {
        {"scale_attn_weights", config->scales_scores, true},
        {"scale_attn_by_inverse_layer_idx", config->scales_by_layer, false},
        {"reorder_and_upcast_attn", config->upcasts_scores, false},
        {"add_cross_attention", config->cross_attends, false},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i].value != flags[i].computed)
            return baton_fail(why, BATON_INVALID, "%s: %s is not supported", flags[i].field,
                              flags[i].value ? "true" : "false");
    return BATON_OK;
}

static enum baton_err require_sizes(const struct baton_model_config *config, struct baton_why *why)
{
    const int *const sizes[] = {&config->n_layers, &config->n_embd, &config->n_heads,
                                &config->n_vocab, &config->n_context};
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !err; i++)
        err = baton_model_config_require(config, sizes[i], why);
    return err;
}

static enum baton_err configure(const struct baton_model_config *config,
                                struct baton_model_shape *shape, struct baton_why *why)
{
    enum baton_err err = check_activation(config->activation, why);
    if (!err)
        err = check_variants(config, why);
    if (!err)
        err = require_sizes(config, why);
    if (err)
        return err;
    if (config->n_embd % config->n_heads)
        return baton_fail(why, BATON_INVALID, "n_head: %d does not divide n_embd %d",
                          config->n_heads, config->n_embd);
    struct baton_model_shape read = {
        .n_layers = config->n_layers,
        .n_embd = config->n_embd,
        .n_heads = config->n_heads,
        .n_kv_heads = config->n_heads,
        .head_dim = config->n_embd / config->n_heads,
        .n_ff = config->n_ff ? config->n_ff : 4 * config->n_embd,
        .n_vocab = config->n_vocab,
        .n_context = config->n_context,
        .norm_epsilon = config->norm_epsilon > 0 ? (float)config->norm_epsilon : 1e-5F,
    };
    err = baton_arch_check_shape(&read, why);
    if (!err)
        *shape = read;
    return err;
}

static const struct baton_tensor_row tensors[] = {
    {"wte.weight", IN_MODEL(token_embedding.packed), MATRIX(V, C)},
    {"wpe.weight", IN_MODEL(position_embedding), TABLE(POSITIONS, C)},
    {"ln_1.weight", IN_LAYER(attention.norm.weight), VECTOR(C), .center = 1},
    {"ln_1.bias", IN_LAYER(attention.norm.bias), VECTOR(C)},
    {"ln_2.weight", IN_LAYER(mlp.norm.weight), VECTOR(C), .center = 1},
    {"ln_2.bias", IN_LAYER(mlp.norm.bias), VECTOR(C)},
    {"attn.c_attn.weight", IN_LAYER(attention.qkv.packed), CONV1D(QKV, C)},
    {"attn.c_attn.bias", IN_LAYER(attention.qkv.bias), VECTOR(QKV)},
    {"attn.c_proj.weight", IN_LAYER(attention.out.packed), CONV1D(C, Q)},
    {"attn.c_proj.bias", IN_LAYER(attention.out.bias), VECTOR(C)},
    {"mlp.c_fc.weight", IN_LAYER(mlp.up.packed), CONV1D(F, C)},
    {"mlp.c_fc.bias", IN_LAYER(mlp.up.bias), VECTOR(F)},
    {"mlp.c_proj.weight", IN_LAYER(mlp.down.packed), CONV1D(C, F)},
    {"mlp.c_proj.bias", IN_LAYER(mlp.down.bias), VECTOR(C)},
    {"ln_f.weight", IN_MODEL(final_norm.weight), VECTOR(C), .center = 1},
    {"ln_f.bias", IN_MODEL(final_norm.bias), VECTOR(C)},
    {"lm_head.weight", IN_TOP(head.packed), MATRIX(V, C), .optional = true},
};

const struct baton_arch baton_arch_gpt2 = {
    .model_type = "gpt2",
    .configure = configure,
    .prefix = "transformer.",
    .layer_prefix = "h.",
    .tensors = tensors,
    .n_tensors = sizeof tensors / sizeof tensors[0],
    .norm = BATON_LAYER_NORM,
    .activation = BATON_ACT_GELU_TANH,
};
