#include "tests/unit/engine/compute/forms.h"

#include <math.h>

#include "common/base/array.h"
#include "engine/arch/spec.h"

static void add_rope(struct baton_spec *spec, int n_rotated, double theta, double factor)
{
    struct baton_rope_spec *rope = &spec->ropes[spec->n_ropes++];
    rope->n_rotated = n_rotated;
    rope->attention_factor = factor;
    for (int i = 0; i < n_rotated / 2; i++)
        rope->inverse[i] = pow(theta, -2.0 * i / n_rotated);
}

static void gpt2(struct baton_spec *spec)
{
    (void)spec;
}

static void no_biases(struct baton_spec *spec)
{
    spec->norm = BATON_RMS_NORM;
    spec->norm_has_bias = false;
    spec->has_qkv_bias = spec->has_out_bias = spec->has_mlp_bias = false;
    spec->has_learned_positions = false;
    spec->mlp = BATON_MLP_GATED;
    spec->activation = BATON_ACT_SILU;
}

static void llama(struct baton_spec *spec)
{
    no_biases(spec);
    spec->has_tied_head = false;
    spec->residual_scale = 0.3F;
    spec->logit_scale = 0.25F;
    spec->embed_scale = 12;
    add_rope(spec, 10, 500, 1);
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i].rope = i % 2 ? -1 : 0;
}

static void gemma(struct baton_spec *spec)
{
    no_biases(spec);
    spec->form = BATON_BLOCK_SANDWICH;
    spec->activation = BATON_ACT_GELU_TANH;
    spec->qk_norm = BATON_QK_NORM_HEAD;
    spec->score_cap = 5;
    spec->logit_cap = 3;
    add_rope(spec, 12, 100, 1);
    add_rope(spec, 12, 10000, 1);
    for (int i = 0; i < spec->n_layers; i++) {
        spec->layers[i].rope = i % 2;
        spec->layers[i].window = i % 2 ? 0 : 11;
    }
}

static void olmo(struct baton_spec *spec)
{
    no_biases(spec);
    spec->form = BATON_BLOCK_POST;
    spec->qk_norm = BATON_QK_NORM_WHOLE;
    spec->clip_qkv = 1;
    add_rope(spec, 12, 100, 1.2);
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i].rope = 0;
}

static void cohere(struct baton_spec *spec)
{
    no_biases(spec);
    spec->form = BATON_BLOCK_PARALLEL;
    spec->norm = BATON_LAYER_NORM;
    spec->qk_norm = BATON_QK_NORM_OWN_HEAD;
    add_rope(spec, 12, 100, 1);
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i].rope = 0;
}

static void gpt_neox(struct baton_spec *spec)
{
    spec->form = BATON_BLOCK_PARALLEL;
    spec->mlp_has_norm = true;
    spec->activation = BATON_ACT_GELU_ERF;
    spec->has_learned_positions = false;
    spec->has_head_bias = true;
    spec->has_tied_head = false;
    add_rope(spec, 4, 100, 1);
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i].rope = 0;
}

static void gpt_oss(struct baton_spec *spec)
{
    no_biases(spec);
    spec->activation = BATON_ACT_SWIGLU_CLIP;
    spec->has_qkv_bias = spec->has_out_bias = spec->has_mlp_bias = true;
    spec->has_sinks = true;
    spec->has_q_scaling = true;
    spec->q_scaling_beta = 0.1F;
    spec->q_scaling_period = 16;
    spec->has_router_bias = true;
    spec->moe =
        (struct baton_moe_spec){.n_experts = 12, .n_chosen = 4, .n_ff = 20, .renormalises = true};
    add_rope(spec, 12, 100, 1);
    for (int i = 0; i < spec->n_layers; i++) {
        spec->layers[i].rope = 0;
        spec->layers[i].window = i % 2 ? 0 : 7;
        spec->layers[i].is_moe = true;
    }
}

/* A dense layer among mixtures, which have a shared expert. */
static void qwen_moe(struct baton_spec *spec)
{
    llama(spec);
    spec->moe = (struct baton_moe_spec){
        .n_experts = 5, .n_chosen = 2, .n_ff = 33, .n_ff_shared = 90, .has_shared_gate = true};
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i].is_moe = i != 1;
}

/* Later layers read the first one's K and V. */
static void shared_kv(struct baton_spec *spec)
{
    llama(spec);
    for (int i = 1; i < spec->n_layers; i++)
        spec->layers[i].kv_from = 0;
}

/* As Gemma 4's and Nemotron's: every size of a layer is its own. */
static void uneven(struct baton_spec *spec)
{
    static const struct baton_layer_spec layers[] = {
        {.n_kv_heads = 1, .head_dim = 20, .n_ff = 33, .rope = 0, .kv_from = 0},
        {.n_kv_heads = 6, .head_dim = 12, .n_ff = 90, .rope = 0, .kv_from = 1, .window = 20},
        {.n_kv_heads = 3, .head_dim = 16, .n_ff = 17, .rope = -1, .kv_from = 2},
    };
    llama(spec);
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i] = layers[i];
}

/* A dense layer between two mixtures. */
static void mixture(struct baton_spec *spec)
{
    llama(spec);
    spec->moe = (struct baton_moe_spec){
        .n_experts = 7, .n_chosen = 3, .n_ff = 21, .n_ff_shared = 30, .has_shared_gate = true};
    spec->layers[0].is_moe = spec->layers[2].is_moe = true;
}

/* Inputs of layers, layer scales, values that are keys, shared K and V, heads of several sizes. */
static void gemma4(struct baton_spec *spec)
{
    static const struct baton_layer_spec layers[] = {
        {.n_kv_heads = 3, .head_dim = 10, .n_ff = 33, .rope = 0, .kv_from = 0, .window = 11},
        {.n_kv_heads = 1,
         .head_dim = 20,
         .n_ff = 33,
         .rope = 1,
         .kv_from = 1,
         .values_are_keys = true},
        {.n_kv_heads = 3, .head_dim = 10, .n_ff = 66, .rope = 0, .kv_from = 0, .window = 11},
    };
    no_biases(spec);
    spec->form = BATON_BLOCK_SANDWICH;
    spec->activation = BATON_ACT_GELU_TANH;
    spec->qk_norm = BATON_QK_NORM_HEAD;
    spec->norms_values = spec->has_layer_scales = true;
    spec->n_per_layer = 18;
    spec->score_scale = 1;
    spec->logit_cap = 30;
    add_rope(spec, 10, 100, 1);
    add_rope(spec, 20, 10000, 1);
    for (int i = 3; i < 10; i++)
        spec->ropes[1].inverse[i] = 0;
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i] = layers[i];
}

/* Experts beside an MLP in two of three layers. */
static void beside(struct baton_spec *spec)
{
    gemma4(spec);
    spec->n_per_layer = 0;
    spec->moe = (struct baton_moe_spec){.n_experts = 5,
                                        .n_chosen = 2,
                                        .n_ff = 21,
                                        .n_ff_shared = 30,
                                        .renormalises = true,
                                        .is_beside = true};
    spec->layers[0].is_moe = spec->layers[2].is_moe = true;
}

const char *forms_at(int index, int n_vocab, int n_context, struct baton_spec *spec)
{
    static const struct {
        const char *name;
        void (*change)(struct baton_spec *);
    } forms[] = {
        {"gpt2", gpt2},       {"llama", llama},       {"gemma", gemma},
        {"olmo", olmo},       {"cohere", cohere},     {"gpt_neox", gpt_neox},
        {"gpt_oss", gpt_oss}, {"qwen_moe", qwen_moe}, {"shared K and V", shared_kv},
        {"uneven", uneven},   {"mixture", mixture},   {"gemma4", gemma4},
        {"beside", beside},
    };
    const struct baton_gpt2_sizes sizes = {.n_layers = 3,
                                           .n_embd = 36,
                                           .n_heads = 6,
                                           .n_kv_heads = index % 2 ? 2 : 3,
                                           .head_dim = 12,
                                           .n_ff = index % 2 ? 70 : 53,
                                           .n_vocab = n_vocab,
                                           .n_context = n_context};
    if (index >= (int)(BATON_N_OF(forms)))
        return NULL;
    baton_gpt2_spec(&sizes, spec);
    forms[index].change(spec);
    return forms[index].name;
}
