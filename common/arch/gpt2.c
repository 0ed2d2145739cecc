/* GPT-2 as Hugging Face's GPT2LMHeadModel computes it: learned positions, pre-norm blocks, Conv1D
 * matrices stored [in][out], gelu_new, the head tied to the token embedding. */
#include "common/arch/gpt2.h"

#include <math.h>
#include <string.h>

#include "common/arch/arch.h"
#include "common/arch/names.h"

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

void baton_gpt2_spec(const struct baton_gpt2_sizes *sizes, struct baton_spec *spec)
{
    *spec = (struct baton_spec){
        .n_layers = sizes->n_layers,
        .n_embd = sizes->n_embd,
        .n_heads = sizes->n_heads,
        .n_vocab = sizes->n_vocab,
        .n_context = sizes->n_context,
        .form = BATON_BLOCK_PRE,
        .norm = BATON_LAYER_NORM,
        .norm_epsilon = 1e-5F,
        .norm_has_bias = true,
        .mlp = BATON_MLP_PLAIN,
        .activation = BATON_ACT_GELU_TANH,
        .score_scale = 1.0F / sqrtf((float)sizes->head_dim),
        .has_qkv_bias = true,
        .has_out_bias = true,
        .has_mlp_bias = true,
        .has_learned_positions = true,
        .has_tied_head = true,
        .embed_scale = 1,
        .residual_scale = 1,
        .logit_scale = 1,
    };
    for (int i = 0; i < sizes->n_layers && i < BATON_MAX_LAYERS; i++)
        spec->layers[i] = (struct baton_layer_spec){.n_kv_heads = sizes->n_kv_heads,
                                                    .head_dim = sizes->head_dim,
                                                    .n_ff = sizes->n_ff,
                                                    .rope = -1,
                                                    .kv_from = i};
}

static enum baton_err configure(const struct baton_model_config *config, struct baton_spec *spec,
                                struct baton_why *why)
{
    enum baton_err err = check_activation(config->activation_function, why);
    if (!err)
        err = check_variants(config, why);
    if (!err)
        err = require_sizes(config, why);
    if (err)
        return err;
    if (config->n_embd % config->n_heads)
        return baton_fail(why, BATON_INVALID, "n_head: %d does not divide n_embd %d",
                          config->n_heads, config->n_embd);
    const struct baton_gpt2_sizes sizes = {
        .n_layers = config->n_layers,
        .n_embd = config->n_embd,
        .n_heads = config->n_heads,
        .n_kv_heads = config->n_heads,
        .head_dim = config->n_embd / config->n_heads,
        .n_ff = config->n_ff ? config->n_ff : 4 * config->n_embd,
        .n_vocab = config->n_vocab,
        .n_context = config->n_context,
    };
    baton_gpt2_spec(&sizes, spec);
    spec->has_tied_head = config->tied_head;
    if (config->layer_norm_epsilon > 0)
        spec->norm_epsilon = (float)config->layer_norm_epsilon;
    return BATON_OK;
}

static const struct baton_tensor_row rows[] = {
    {TENSOR("wte.weight", TOKEN_EMBEDDING)},
    {TENSOR("wpe.weight", POSITION_EMBEDDING)},
    {TENSOR("ln_1.weight", ATTN_NORM)},
    {TENSOR("ln_1.bias", ATTN_NORM_BIAS)},
    {TENSOR("ln_2.weight", MLP_NORM)},
    {TENSOR("ln_2.bias", MLP_NORM_BIAS)},
    {TENSOR("attn.c_attn.weight", QKV), .transposed = true},
    {TENSOR("attn.c_attn.bias", QKV_BIAS)},
    {TENSOR("attn.c_proj.weight", OUT), .transposed = true},
    {TENSOR("attn.c_proj.bias", OUT_BIAS)},
    {TENSOR("mlp.c_fc.weight", UP), .transposed = true},
    {TENSOR("mlp.c_fc.bias", UP_BIAS)},
    {TENSOR("mlp.c_proj.weight", DOWN), .transposed = true},
    {TENSOR("mlp.c_proj.bias", DOWN_BIAS)},
    {TENSOR("ln_f.weight", FINAL_NORM)},
    {TENSOR("ln_f.bias", FINAL_NORM_BIAS)},
    {TENSOR("lm_head.weight", HEAD)},
};

static const struct baton_tensor_names tensors = {
    .prefix = "transformer.", .layer_prefix = "h.", .lists = {LIST(rows)}};

const struct baton_arch baton_arch_gpt2 = {
    .model_type = "gpt2", .configure = configure, .tensors = &tensors};
