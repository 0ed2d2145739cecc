#include "engine/arch/refine.h"

#include <math.h>
#include <string.h>

#include "common/base/array.h"

#define CONFIG struct baton_model_config

/* ---- dense models ---- */

/* query_pre_attn_scalar replaces the head size in the scale of scores (Gemma 2, 3). */
static void set_query_scalar(const CONFIG *config, struct baton_spec *spec)
{
    if (config->query_scalar > 0)
        spec->score_scale = (float)(1 / sqrt(config->query_scalar));
}

enum baton_err baton_refine_gemma(const CONFIG *config, struct baton_spec *spec,
                                  struct baton_why *why)
{
    (void)why;
    spec->embed_scale = (float)sqrt((double)config->n_embd); /* no key of the config has it */
    set_query_scalar(config, spec);
    /* An encoder's window is centred: half of it lies behind a position, half after it. */
    for (int i = 0; config->is_encoder && i < spec->n_layers; i++)
        if (spec->layers[i].window)
            spec->layers[i].window = spec->layers[i].window / 2 + 1;
    return BATON_OK;
}

/* GPT-Neo does not scale scores by the head size. Without layer_types every second layer has a
 * window, the first one being global. */
enum baton_err baton_refine_gpt_neo(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    (void)why;
    spec->score_scale = 1;
    if (!config->n_layer_types)
        for (int i = 0; i < spec->n_layers; i++)
            spec->layers[i].window = i % 2 ? config->sliding_window : 0;
    return BATON_OK;
}

enum baton_err baton_refine_gpt_neox(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    (void)why;
    /* GPT-NeoX has two norms in both forms, unlike other parallel models. */
    spec->mlp_has_norm = config->use_parallel_residual;
    if (!config->use_parallel_residual)
        spec->form = BATON_BLOCK_PRE;
    return BATON_OK;
}

enum baton_err baton_refine_gptj(const CONFIG *config, struct baton_spec *spec,
                                 struct baton_why *why)
{
    (void)spec;
    return baton_model_config_require(config, &config->rotary_dim, why);
}

/* no_rope_layers lists the layers that rotate (1) or not (0); without the list every interval-th
 * layer does not rotate. */
enum baton_err baton_refine_smollm3(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    bool windowed = config->use_sliding_window && !config->n_layer_types;
    (void)why;
    for (int i = 0; i < spec->n_layers; i++) {
        bool turns = config->n_no_rope
                         ? !config->no_rope[i]
                         : !config->no_rope_interval || (i + 1) % config->no_rope_interval != 0;
        if (turns)
            continue;
        spec->layers[i].rope = -1;
        if (windowed)
            spec->layers[i].window = config->sliding_window;
    }
    return BATON_OK;
}

/* Queries are scaled up with the position (Llama 4's attention temperature). */
enum baton_err baton_refine_ministral3(const CONFIG *config, struct baton_spec *spec,
                                       struct baton_why *why)
{
    int period =
        config->rope.original_context ? config->rope.original_context : config->original_context;
    spec->has_q_scaling = config->rope.query_scaling_beta > 0;
    spec->q_scaling_beta = (float)config->rope.query_scaling_beta;
    spec->q_scaling_period = spec->has_q_scaling ? period : 0;
    if (spec->has_q_scaling && !period)
        return baton_fail(why, BATON_INVALID,
                          "rope_parameters.original_max_position_embeddings: must be given beside "
                          "llama_4_scaling_beta");
    return BATON_OK;
}

/* position_embedding_type switches the rotation of all layers. */
static enum baton_err set_position_embedding(const CONFIG *config, struct baton_spec *spec,
                                             struct baton_why *why)
{
    const char *type = config->position_embedding_type;
    if (!*type || !strcmp(type, "rope"))
        return BATON_OK;
    if (strcmp(type, "nope") != 0)
        return baton_fail(why, BATON_INVALID,
                          "position_embedding_type: must be rope or nope, not \"%.40s\"", type);
    for (int i = 0; i < spec->n_layers; i++)
        spec->layers[i].rope = -1;
    return BATON_OK;
}

enum baton_err baton_refine_granite(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    if (config->attention_multiplier > 0)
        spec->score_scale = (float)config->attention_multiplier;
    spec->embed_scale = (float)config->embedding_multiplier;
    spec->residual_scale = (float)config->residual_multiplier;
    spec->logit_scale = (float)(1 / config->logits_scaling); /* Granite divides by it */
    return set_position_embedding(config, spec, why);
}

enum baton_err baton_refine_minicpm(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    (void)why;
    spec->embed_scale = (float)config->scale_emb;
    if (config->scale_depth > 0)
        /* The deeper the model, the less each layer adds. */
        spec->residual_scale = (float)(config->scale_depth / sqrt((double)config->n_layers));
    if (config->dim_model_base > 0)
        spec->logit_scale = (float)(config->dim_model_base / config->n_embd);
    return BATON_OK;
}

enum baton_err baton_refine_cohere(const CONFIG *config, struct baton_spec *spec,
                                   struct baton_why *why)
{
    (void)why;
    spec->logit_scale = (float)config->logit_scale;
    if (config->use_qk_norm)
        spec->qk_norm = BATON_QK_NORM_OWN_HEAD;
    return BATON_OK;
}

/* Global layers have no rotation. */
enum baton_err baton_refine_cohere2(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    for (int i = 0; i < spec->n_layers; i++)
        if (!spec->layers[i].window)
            spec->layers[i].rope = -1;
    return baton_refine_cohere(config, spec, why);
}

/* use_bias is for all matrices of a layer (StarCoder 2, ERNIE 4.5). */
enum baton_err baton_refine_use_bias(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    (void)why;
    spec->has_qkv_bias = config->use_bias;
    spec->has_out_bias = config->use_bias;
    spec->has_mlp_bias = config->use_bias;
    return BATON_OK;
}

enum baton_err baton_refine_apertus(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    if (spec->activation == BATON_ACT_XIELU)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "hidden_act: \"%s\" is not supported in an apertus model (supported: xielu)",
                      config->hidden_act);
}

/* In a model with windows, the layers that see everything do not rotate. */
enum baton_err baton_refine_exaone4(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    (void)why;
    for (int i = 0; i < spec->n_layers; i++)
        if (config->sliding_window && !spec->layers[i].window)
            spec->layers[i].rope = -1;
    return BATON_OK;
}

enum baton_err baton_refine_hunyuan(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    (void)config;
    (void)why;
    spec->norms_turned = true; /* no key of the config has it */
    return BATON_OK;
}

enum baton_err baton_refine_seed_oss(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    (void)why;
    spec->has_out_bias = config->attention_out_bias;
    return BATON_OK;
}

/* ---- encoders ---- */

enum baton_err baton_refine_bert(const CONFIG *config, struct baton_spec *spec,
                                 struct baton_why *why)
{
    (void)spec;
    if (config->position_embedding_type[0] &&
        strcmp(config->position_embedding_type, "absolute") != 0)
        return baton_fail(why, BATON_INVALID,
                          "position_embedding_type: \"%s\" is not supported in a %s model "
                          "(supported: absolute)",
                          config->position_embedding_type, config->model_type);
    if (config->is_decoder)
        return baton_fail(why, BATON_INVALID, "is_decoder: true is not supported in a %s model",
                          config->model_type);
    return BATON_OK;
}

/* ---- mixtures of experts ---- */

enum baton_err baton_refine_set_experts(const CONFIG *config, int n_ff, struct baton_spec *spec,
                                        struct baton_why *why)
{
    if (!config->n_experts)
        return baton_fail(why, BATON_INVALID,
                          "num_experts (num_local_experts): must be given, a whole number in 1..%d",
                          BATON_MAX_EXPERTS);
    if (config->n_experts_chosen < 1 || config->n_experts_chosen > config->n_experts)
        return baton_fail(why, BATON_INVALID,
                          "num_experts_per_tok: must be a whole number in 1..%d, not %d",
                          config->n_experts, config->n_experts_chosen);
    if (!n_ff)
        return baton_fail(why, BATON_INVALID,
                          "moe_intermediate_size: must be given, a whole number in 1..%d",
                          BATON_MAX_WIDTH);
    spec->moe = (struct baton_moe_spec){.n_experts = config->n_experts,
                                        .n_chosen = config->n_experts_chosen,
                                        .n_ff = n_ff,
                                        .renormalises = true};
    for (int i = 0; i < spec->n_layers; i++) {
        spec->layers[i].is_moe = true;
        spec->layers[i].n_ff = 0; /* an expert's width is moe.n_ff; F here is a dense layer's */
    }
    return BATON_OK;
}

enum baton_err baton_refine_mixtral(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    return baton_refine_set_experts(config, config->n_ff, spec, why);
}

enum baton_err baton_refine_olmoe(const CONFIG *config, struct baton_spec *spec,
                                  struct baton_why *why)
{
    enum baton_err err = baton_refine_set_experts(config, config->n_ff, spec, why);
    spec->moe.renormalises = config->norm_topk_prob;
    return err;
}

/* Layers of mlp_only_layers, and those between the sparse steps, are dense. */
enum baton_err baton_refine_qwen3_moe(const CONFIG *config, struct baton_spec *spec,
                                      struct baton_why *why)
{
    enum baton_err err = baton_refine_set_experts(config, config->moe_n_ff, spec, why);
    spec->moe.renormalises = config->norm_topk_prob;
    for (int i = 0; i < spec->n_layers && !err; i++)
        if (config->is_dense[i] || (i + 1) % config->decoder_sparse_step) {
            spec->layers[i].is_moe = false;
            spec->layers[i].n_ff = config->n_ff;
        }
    return err;
}

enum baton_err baton_refine_qwen2_moe(const CONFIG *config, struct baton_spec *spec,
                                      struct baton_why *why)
{
    enum baton_err err = baton_refine_qwen3_moe(config, spec, why);
    spec->has_qkv_bias = config->qkv_bias;
    spec->moe.n_ff_shared = config->shared_n_ff;
    spec->moe.has_shared_gate = config->shared_n_ff > 0;
    return err;
}

enum baton_err baton_refine_granitemoe(const CONFIG *config, struct baton_spec *spec,
                                       struct baton_why *why)
{
    enum baton_err err = baton_refine_granite(config, spec, why);
    if (!err)
        err = baton_refine_set_experts(config, config->n_ff, spec, why);
    spec->moe.n_ff_shared = config->shared_mlp_n_ff;
    return err;
}

enum baton_err baton_refine_gpt_oss(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    if (config->quantization[0] && strcmp(config->quantization, "mxfp4") != 0)
        return baton_fail(why, BATON_INVALID,
                          "quantization_config: \"%s\" is not supported in a gpt_oss model "
                          "(supported: mxfp4)",
                          config->quantization);
    if (spec->activation != BATON_ACT_SILU)
        return baton_fail(
            why, BATON_INVALID,
            "hidden_act: \"%s\" is not supported in a gpt_oss model (supported: silu)",
            config->hidden_act);
    /* The config says silu; the modeling file clips both halves and scales the gate by 1.702. */
    spec->activation = BATON_ACT_SWIGLU_CLIP;
    spec->has_sinks = true;
    spec->has_mlp_bias = true;
    spec->has_router_bias = true;
    return baton_refine_set_experts(config, config->n_ff, spec, why);
}

/* The scale of a token's embedding is Gemma's. Gemma 4 does not scale scores: the norms' weights of
 * queries and keys hold the scale. */
enum baton_err baton_refine_gemma4(const CONFIG *config, struct baton_spec *spec,
                                   struct baton_why *why)
{
    if (config->n_per_layer && config->n_vocab_per_layer &&
        config->n_vocab_per_layer != config->n_vocab)
        return baton_fail(why, BATON_INVALID,
                          "vocab_size_per_layer_input: must be vocab_size, %d, not %d",
                          config->n_vocab, config->n_vocab_per_layer);
    spec->embed_scale = (float)sqrt((double)config->n_embd);
    spec->score_scale = 1;
    spec->norms_values = true;
    spec->has_layer_scales = true;
    spec->n_per_layer = config->n_per_layer;
    if (!config->moe_block)
        return BATON_OK;
    enum baton_err err = baton_refine_set_experts(config, config->moe_n_ff, spec, why);
    spec->moe.n_ff_shared = config->n_ff;
    spec->moe.is_beside = true;
    return err;
}

/* Refuses the variants of nomic_bert that no embedding model of the family has. */
static enum baton_err check_nomic(const CONFIG *config, struct baton_why *why)
{
    const struct {
        const char *text;
        bool is_set;
    } refused[] = {
        {"causal: true", config->is_causal},
        {"prenorm: true", config->is_prenorm},
        {"use_rms_norm: true", config->uses_rms_norm},
        {"parallel_block: true", config->is_parallel},
        {"mlp_fc2_bias: another value than mlp_fc1_bias", config->mlp_out_bias != config->mlp_bias},
        {"rotary_scaling_factor: a number", config->rotary_scaling_factor > 0},
        {"rotary_emb_scale_base: a number", config->rotary_scale_base > 0},
        {"expert_choice_router: true", config->expert_choice},
    };
    for (size_t i = 0; i < BATON_N_OF(refused); i++)
        if (refused[i].is_set)
            return baton_fail(why, BATON_INVALID, "%s is not supported in a nomic_bert model",
                              refused[i].text);
    return BATON_OK;
}

enum baton_err baton_refine_nomic(const CONFIG *config, struct baton_spec *spec,
                                  struct baton_why *why)
{
    enum baton_err err = check_nomic(config, why);
    spec->has_qkv_bias = spec->has_out_bias = config->qkv_bias;
    if (err || !config->moe_interval || !config->n_experts)
        return err;
    err = baton_refine_set_experts(config, config->n_ff, spec, why);
    spec->moe.renormalises = config->norm_topk_prob;
    spec->moe.has_no_biases = true;
    spec->moe.has_one_bias = !config->gguf_names;
    for (int i = 0; i < spec->n_layers; i++)
        if (i % config->moe_interval != 1 % config->moe_interval) {
            spec->layers[i].is_moe = false;
            spec->layers[i].n_ff = config->n_ff;
        }
    return err;
}
