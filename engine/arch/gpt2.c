/* GPT-2 as Hugging Face's GPT2LMHeadModel computes it: learned positions, pre-norm blocks, Conv1D
 * matrices stored [in][out], gelu_new, the head tied to the token embedding. */
#include "engine/arch/gpt2.h"

#include <math.h>

#include "engine/arch/names.h"

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

const struct baton_tensor_names baton_names_gpt2 = {
    .prefix = "transformer.", .layer_prefix = "h.", .lists = {LIST(rows)}};
