/* Every architecture as a row, from the modeling and configuration files of its family in
 * huggingface/transformers (src/transformers/models/FAMILY); minicpm from openbmb/MiniCPM-2B-sft-bf16
 * (modeling_minicpm.py). */
#include "common/arch/families.h"

#include <math.h>
#include <string.h>

#include "common/arch/names.h"

#define CONFIG   struct baton_model_config
#define BY(name) BATON_CHOICE(name)
#define WINDOWS  (BY(SLIDING_WINDOW) | BY(USE_SLIDING_WINDOW) | BY(LAYER_TYPES))
#define ROPE     BY(ROPE_SCALING)
#define MIXTURE  BY(EXPERTS)
#define QWEN_MOE (MIXTURE | BY(DENSE_LAYERS) | BY(SPARSE_STEP))
#define GRANITE                                                                                    \
    (BY(EMBEDDING_MULTIPLIER) | BY(RESIDUAL_MULTIPLIER) | BY(ATTENTION_MULTIPLIER) |               \
     BY(LOGITS_SCALING))

/* ---- what rows cannot say: dense models ---- */

/* One scale for queries of any head size (Gemma 2, 3). */
static void set_query_scalar(const CONFIG *config, struct baton_spec *spec)
{
    if (config->query_scalar > 0)
        spec->score_scale = (float)(1 / sqrt(config->query_scalar));
}

static enum baton_err refine_gemma(const CONFIG *config, struct baton_spec *spec,
                                   struct baton_why *why)
{
    (void)why;
    spec->embed_scale = (float)sqrt((double)config->n_embd);
    set_query_scalar(config, spec);
    return BATON_OK;
}

/* Scores as they are, and one projection with a bias. */
static enum baton_err refine_gpt_neo(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    (void)why;
    spec->score_scale = 1;
    if (!config->n_layer_types)
        for (int i = 0; i < spec->n_layers; i++)
            spec->layers[i].window = i % 2 ? config->sliding_window : 0;
    return BATON_OK;
}

static enum baton_err refine_gpt_neox(const CONFIG *config, struct baton_spec *spec,
                                      struct baton_why *why)
{
    (void)why;
    spec->mlp_has_norm = config->use_parallel_residual;
    if (!config->use_parallel_residual)
        spec->form = BATON_BLOCK_PRE;
    return BATON_OK;
}

static enum baton_err refine_gptj(const CONFIG *config, struct baton_spec *spec,
                                  struct baton_why *why)
{
    (void)spec;
    return baton_model_config_require(config, &config->rotary_dim, why);
}

/* Every fourth layer is without rotation, unless the config says which. */
static enum baton_err refine_smollm3(const CONFIG *config, struct baton_spec *spec,
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

/* Queries grow with the position (Llama 4's temperature). */
static enum baton_err refine_ministral3(const CONFIG *config, struct baton_spec *spec,
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

static enum baton_err refine_granite(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    (void)why;
    if (config->attention_multiplier > 0)
        spec->score_scale = (float)config->attention_multiplier;
    spec->embed_scale = (float)config->embedding_multiplier;
    spec->residual_scale = (float)config->residual_multiplier;
    spec->logit_scale = (float)(1 / config->logits_scaling);
    return BATON_OK;
}

static enum baton_err refine_minicpm(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    (void)why;
    spec->embed_scale = (float)config->scale_emb;
    if (config->scale_depth > 0)
        spec->residual_scale = (float)(config->scale_depth / sqrt((double)config->n_layers));
    if (config->dim_model_base > 0)
        spec->logit_scale = (float)(config->dim_model_base / config->n_embd);
    return BATON_OK;
}

static enum baton_err refine_cohere(const CONFIG *config, struct baton_spec *spec,
                                    struct baton_why *why)
{
    (void)why;
    spec->logit_scale = (float)config->logit_scale;
    if (config->use_qk_norm)
        spec->qk_norm = BATON_QK_NORM_OWN_HEAD;
    return BATON_OK;
}

/* Layers that see everything have no rotation. */
static enum baton_err refine_cohere2(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    for (int i = 0; i < spec->n_layers; i++)
        if (!spec->layers[i].window)
            spec->layers[i].rope = -1;
    return refine_cohere(config, spec, why);
}

static enum baton_err refine_starcoder2(const CONFIG *config, struct baton_spec *spec,
                                        struct baton_why *why)
{
    (void)why;
    spec->has_qkv_bias = config->use_bias;
    spec->has_out_bias = config->use_bias;
    spec->has_mlp_bias = config->use_bias;
    return BATON_OK;
}

/* ---- mixtures of experts ---- */

static enum baton_err set_experts(const CONFIG *config, int n_ff, struct baton_spec *spec,
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
        spec->layers[i].n_ff = 0;
    }
    return BATON_OK;
}

static enum baton_err refine_mixtral(const CONFIG *config, struct baton_spec *spec,
                                     struct baton_why *why)
{
    return set_experts(config, config->n_ff, spec, why);
}

static enum baton_err refine_olmoe(const CONFIG *config, struct baton_spec *spec,
                                   struct baton_why *why)
{
    enum baton_err err = set_experts(config, config->n_ff, spec, why);
    spec->moe.renormalises = config->norm_topk_prob;
    return err;
}

/* Some layers may be dense. */
static enum baton_err refine_qwen3_moe(const CONFIG *config, struct baton_spec *spec,
                                       struct baton_why *why)
{
    enum baton_err err = set_experts(config, config->moe_n_ff, spec, why);
    spec->moe.renormalises = config->norm_topk_prob;
    for (int i = 0; i < spec->n_layers && !err; i++)
        if (config->is_dense[i] || (i + 1) % config->decoder_sparse_step) {
            spec->layers[i].is_moe = false;
            spec->layers[i].n_ff = config->n_ff;
        }
    return err;
}

static enum baton_err refine_qwen2_moe(const CONFIG *config, struct baton_spec *spec,
                                       struct baton_why *why)
{
    enum baton_err err = refine_qwen3_moe(config, spec, why);
    spec->has_qkv_bias = config->qkv_bias;
    spec->moe.n_ff_shared = config->shared_n_ff;
    spec->moe.has_shared_gate = config->shared_n_ff > 0;
    return err;
}

static enum baton_err refine_granitemoe(const CONFIG *config, struct baton_spec *spec,
                                        struct baton_why *why)
{
    enum baton_err err = refine_granite(config, spec, why);
    if (!err)
        err = set_experts(config, config->n_ff, spec, why);
    spec->moe.n_ff_shared = config->shared_mlp_n_ff;
    return err;
}

static enum baton_err refine_gpt_oss(const CONFIG *config, struct baton_spec *spec,
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
    spec->activation = BATON_ACT_SWIGLU_CLIP;
    spec->has_sinks = true;
    spec->has_mlp_bias = true;
    spec->has_router_bias = true;
    return set_experts(config, config->n_ff, spec, why);
}

/* ---- the table ---- */

const struct baton_arch baton_families[] = {
    {.model_type = "gpt2",
     .tensors = &baton_names_gpt2,
     .norm = BATON_LAYER_NORM,
     .norm_has_bias = true,
     .epsilon = BATON_KEY_LAYER_NORM_EPSILON,
     .mlp = BATON_MLP_PLAIN,
     .activation = BATON_KEY_ACTIVATION_FUNCTION,
     .has_learned_positions = true,
     .has_qkv_bias = true,
     .has_out_bias = true,
     .has_mlp_bias = true,
     .defaults_n_ff = true},
    {.model_type = "gpt_neo",
     .tensors = &baton_names_gpt_neo,
     .choices = WINDOWS,
     .norm = BATON_LAYER_NORM,
     .norm_has_bias = true,
     .epsilon = BATON_KEY_LAYER_NORM_EPSILON,
     .mlp = BATON_MLP_PLAIN,
     .activation = BATON_KEY_ACTIVATION_FUNCTION,
     .window = BATON_WINDOW_EVEN, /* of layer_types; without it refine_gpt_neo decides */
     .has_learned_positions = true,
     .has_out_bias = true,
     .has_mlp_bias = true,
     .defaults_n_ff = true,
     .refine = refine_gpt_neo},
    {.model_type = "gpt_neox",
     .tensors = &baton_names_gpt_neox,
     .choices = BY(ATTENTION_BIAS) | BY(PARALLEL_RESIDUAL) | BY(PARTIAL_ROTARY) | ROPE,
     .form = BATON_BLOCK_PARALLEL,
     .norm = BATON_LAYER_NORM,
     .norm_has_bias = true,
     .epsilon = BATON_KEY_LAYER_NORM_EPS,
     .mlp = BATON_MLP_PLAIN,
     .has_mlp_bias = true,
     .refine = refine_gpt_neox},
    {.model_type = "gptj",
     .tensors = &baton_names_gptj,
     .choices = BY(ROTARY_DIM),
     .form = BATON_BLOCK_PARALLEL,
     .norm = BATON_LAYER_NORM,
     .norm_has_bias = true,
     .epsilon = BATON_KEY_LAYER_NORM_EPSILON,
     .mlp = BATON_MLP_PLAIN,
     .activation = BATON_KEY_ACTIVATION_FUNCTION,
     .rotates_pairs = true,
     .has_mlp_bias = true,
     .has_head_bias = true,
     .defaults_n_ff = true,
     .refine = refine_gptj},
    {.model_type = "llama",
     .tensors = &baton_names_llama,
     .choices = BY(ATTENTION_BIAS) | BY(MLP_BIAS) | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED},
    {.model_type = "smollm3",
     .tensors = &baton_names_llama,
     .choices = BY(ATTENTION_BIAS) | BY(MLP_BIAS) | BY(NO_ROPE_LAYERS) | WINDOWS | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .window = BATON_WINDOW_NO_ROPE,
     .refine = refine_smollm3},
    {.model_type = "mistral",
     .tensors = &baton_names_llama,
     .choices = BY(SLIDING_WINDOW) | BY(USE_SLIDING_WINDOW) | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .window = BATON_WINDOW_ALL},
    {.model_type = "ministral3",
     .tensors = &baton_names_llama,
     .choices = BY(SLIDING_WINDOW) | BY(QUERY_SCALING) | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .window = BATON_WINDOW_ALL,
     .refine = refine_ministral3},
    {.model_type = "mixtral",
     .tensors = &baton_names_mixtral,
     .choices = BY(SLIDING_WINDOW) | MIXTURE | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .window = BATON_WINDOW_ALL,
     .refine = refine_mixtral},
    {.model_type = "qwen2",
     .tensors = &baton_names_llama,
     .choices = BY(ATTENTION_BIAS) | WINDOWS | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .window = BATON_WINDOW_LATE,
     .has_qkv_bias = true,
     .never_has_out_bias = true},
    {.model_type = "qwen2_moe",
     .tensors = &baton_names_qwen_moe,
     .choices = BY(SLIDING_WINDOW) | BY(QKV_BIAS) | BY(SHARED_EXPERT) | QWEN_MOE | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .refine = refine_qwen2_moe},
    {.model_type = "qwen3",
     .tensors = &baton_names_llama,
     .choices = BY(QK_NORM) | BY(ATTENTION_BIAS) | WINDOWS | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .qk_norm = BATON_QK_NORM_HEAD,
     .window = BATON_WINDOW_LATE},
    {.model_type = "qwen3_moe",
     .tensors = &baton_names_qwen_moe,
     .choices = BY(QK_NORM) | BY(ATTENTION_BIAS) | BY(SLIDING_WINDOW) | BY(USE_SLIDING_WINDOW) |
                QWEN_MOE | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .qk_norm = BATON_QK_NORM_HEAD,
     .window = BATON_WINDOW_SWITCHED,
     .refine = refine_qwen3_moe},
    {.model_type = "gemma",
     .tensors = &baton_names_gemma,
     .choices = BY(ATTENTION_BIAS) | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .activation = BATON_KEY_HIDDEN_ACTIVATION,
     .refine = refine_gemma},
    {.model_type = "gemma2",
     .tensors = &baton_names_gemma2,
     .choices =
         BY(ATTENTION_BIAS) | BY(QUERY_SCALAR) | BY(SCORE_CAP) | BY(LOGIT_CAP) | WINDOWS | ROPE,
     .form = BATON_BLOCK_SANDWICH,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .activation = BATON_KEY_HIDDEN_ACTIVATION,
     .window = BATON_WINDOW_EVEN,
     .refine = refine_gemma},
    {.model_type = "gemma3_text",
     .tensors = &baton_names_gemma2,
     .choices = BY(QK_NORM) | BY(ATTENTION_BIAS) | BY(QUERY_SCALAR) | BY(LOGIT_CAP) |
                BY(WINDOW_PATTERN) | BY(LOCAL_ROPE) | WINDOWS | ROPE,
     .form = BATON_BLOCK_SANDWICH,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .activation = BATON_KEY_HIDDEN_ACTIVATION,
     .qk_norm = BATON_QK_NORM_HEAD,
     .window = BATON_WINDOW_PATTERN,
     .refine = refine_gemma},
    {.model_type = "phi",
     .tensors = &baton_names_phi,
     .choices = BY(PARTIAL_ROTARY) | ROPE,
     .form = BATON_BLOCK_PARALLEL,
     .norm = BATON_LAYER_NORM,
     .norm_has_bias = true,
     .epsilon = BATON_KEY_LAYER_NORM_EPS,
     .mlp = BATON_MLP_PLAIN,
     .has_qkv_bias = true,
     .has_out_bias = true,
     .has_mlp_bias = true,
     .has_head_bias = true},
    {.model_type = "phi3",
     .tensors = &baton_names_phi3,
     .choices = BY(SLIDING_WINDOW) | BY(PARTIAL_ROTARY) | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .window = BATON_WINDOW_ALL},
    {.model_type = "granite",
     .tensors = &baton_names_llama,
     .choices = BY(ATTENTION_BIAS) | BY(MLP_BIAS) | GRANITE | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .refine = refine_granite},
    {.model_type = "granitemoe",
     .tensors = &baton_names_granite_moe,
     .choices = BY(ATTENTION_BIAS) | BY(SHARED_MLP) | GRANITE | MIXTURE | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .refine = refine_granitemoe},
    {.model_type = "granitemoeshared",
     .tensors = &baton_names_granite_moe,
     .choices = BY(ATTENTION_BIAS) | BY(SHARED_MLP) | GRANITE | MIXTURE | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .refine = refine_granitemoe},
    {.model_type = "olmo2",
     .tensors = &baton_names_olmo2,
     .choices = BY(QK_NORM) | BY(ATTENTION_BIAS) | ROPE,
     .form = BATON_BLOCK_POST,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .qk_norm = BATON_QK_NORM_WHOLE},
    {.model_type = "olmoe",
     .tensors = &baton_names_qwen_moe,
     .choices = BY(QK_NORM) | BY(ATTENTION_BIAS) | BY(CLIP_QKV) | MIXTURE | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .qk_norm = BATON_QK_NORM_WHOLE,
     .refine = refine_olmoe},
    {.model_type = "cohere",
     .tensors = &baton_names_llama,
     .choices = BY(ATTENTION_BIAS) | BY(LOGIT_SCALE) | BY(QK_NORM) | ROPE,
     .form = BATON_BLOCK_PARALLEL,
     .norm = BATON_LAYER_NORM,
     .epsilon = BATON_KEY_LAYER_NORM_EPS,
     .mlp = BATON_MLP_GATED,
     .rotates_pairs = true,
     .refine = refine_cohere},
    {.model_type = "cohere2",
     .tensors = &baton_names_llama,
     .choices = BY(ATTENTION_BIAS) | BY(LOGIT_SCALE) | BY(WINDOW_PATTERN) | WINDOWS | ROPE,
     .form = BATON_BLOCK_PARALLEL,
     .norm = BATON_LAYER_NORM,
     .epsilon = BATON_KEY_LAYER_NORM_EPS,
     .mlp = BATON_MLP_GATED,
     .window = BATON_WINDOW_PATTERN,
     .rotates_pairs = true,
     .refine = refine_cohere2},
    {.model_type = "glm4",
     .tensors = &baton_names_glm4,
     .choices = BY(ATTENTION_BIAS) | BY(PARTIAL_ROTARY) | ROPE,
     .form = BATON_BLOCK_SANDWICH,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .rotates_pairs = true,
     .never_has_out_bias = true},
    {.model_type = "starcoder2",
     .tensors = &baton_names_starcoder2,
     .choices = BY(USE_BIAS) | BY(SLIDING_WINDOW) | ROPE,
     .norm = BATON_LAYER_NORM,
     .norm_has_bias = true,
     .epsilon = BATON_KEY_NORM_EPSILON,
     .mlp = BATON_MLP_PLAIN,
     .window = BATON_WINDOW_ALL,
     .refine = refine_starcoder2},
    {.model_type = "minicpm",
     .tensors = &baton_names_llama,
     .choices = BY(ATTENTION_BIAS) | BY(SCALE_EMB) | BY(SCALE_DEPTH) | BY(DIM_MODEL_BASE) | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .refine = refine_minicpm},
    {.model_type = "gpt_oss",
     .tensors = &baton_names_gpt_oss,
     .choices = BY(ATTENTION_BIAS) | BY(QUANTIZATION) | WINDOWS | MIXTURE | ROPE,
     .norm = BATON_RMS_NORM,
     .mlp = BATON_MLP_GATED,
     .window = BATON_WINDOW_EVEN,
     .refine = refine_gpt_oss},
};

const int baton_n_families = sizeof baton_families / sizeof baton_families[0];
