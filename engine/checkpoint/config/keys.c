/* The keys of a config.json that have one value each, and their texts for messages. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/config/internal.h"

#define CONFIG    struct baton_model_config
#define AT(field) offsetof(CONFIG, field)

/* A row's columns after its names, by kind. A letter F: the feature that a value other than the
 * neutral one requests. */
#define SIZE(field, min, max) BATON_CONFIG_SIZE, AT(field), (min), (max), 0
#define SIZE_F(field, max, f) BATON_CONFIG_SIZE, AT(field), 0, (max), BATON_FEATURE(f)
#define REAL(field, min, max) BATON_CONFIG_REAL, AT(field), (min), (max), 0
#define REAL_F(field, f)      BATON_CONFIG_REAL, AT(field), 1e-9, 1e9, BATON_FEATURE(f)
#define FLAG(field)           BATON_CONFIG_FLAG, AT(field), 0, 0, 0
#define FLAG_F(field, f)      BATON_CONFIG_FLAG, AT(field), 0, 0, BATON_FEATURE(f)
#define BYTES(field)          sizeof(((CONFIG *)0)->field)
#define TEXT(field)           BATON_CONFIG_TEXT, AT(field), 0, BYTES(field), 0
#define TEXT_F(field, f)      BATON_CONFIG_TEXT, AT(field), 0, BYTES(field), BATON_FEATURE(f)

/* clang-format off: one key a line */
static const struct baton_config_row rows[] = {
    {{"model_type"}, TEXT(model_type)},
    {{"num_hidden_layers", "n_layer", "num_layers"}, SIZE(n_layers, 1, BATON_MAX_LAYERS)},
    {{"hidden_size", "n_embd"}, SIZE(n_embd, 1, BATON_MAX_WIDTH / 4)}, /* F may be 4 C */
    {{"num_attention_heads", "n_head", "num_heads"}, SIZE(n_heads, 1, BATON_MAX_WIDTH)},
    {{"num_key_value_heads"}, SIZE(n_kv_heads, 1, BATON_MAX_WIDTH)},
    {{"head_dim", "attention_head_dim"}, SIZE(head_dim, 1, BATON_MAX_WIDTH)},
    {{"intermediate_size", "n_inner"}, SIZE(n_ff, 1, BATON_MAX_WIDTH)},
    {{"vocab_size"}, SIZE(n_vocab, 1, BATON_MAX_VOCAB)},
    {{"n_positions", "n_ctx", "max_position_embeddings"}, SIZE(n_context, 1, BATON_MAX_CONTEXT)},
    {{"original_max_position_embeddings"}, SIZE(original_context, 1, BATON_MAX_CONTEXT)},

    {{"rms_norm_eps"}, REAL(rms_norm_eps, 1e-12, 0.1)},
    {{"layer_norm_eps"}, REAL(layer_norm_eps, 1e-12, 0.1)},
    {{"layer_norm_epsilon"}, REAL(layer_norm_epsilon, 1e-12, 0.1)},
    {{"norm_epsilon", "norm_eps"}, REAL(norm_epsilon, 1e-12, 0.1)},
    {{"activation_function"}, TEXT(activation_function)},
    {{"hidden_act", "mlp_hidden_act"}, TEXT(hidden_act)},
    {{"hidden_activation"}, TEXT(hidden_activation)},
    {{"mlp_type"}, TEXT_F(mlp_type, MLP_TYPE)},
    {{"norm_type"}, TEXT_F(norm_type, NORM_TYPE)},

    {{"tie_word_embeddings", "tie_embedding"}, FLAG(tied_head)},
    {{"attention_bias"}, FLAG_F(attention_bias, ATTENTION_BIAS)},
    {{"attention_out_bias"}, FLAG_F(attention_out_bias, OUT_BIAS)},
    {{"mlp_bias", "mlp_fc1_bias"}, FLAG_F(mlp_bias, MLP_BIAS)},
    {{"use_bias"}, FLAG_F(use_bias, USE_BIAS)},
    {{"qkv_bias", "qkv_proj_bias"}, FLAG_F(qkv_bias, QKV_BIAS)},
    {{"lm_head_bias"}, FLAG_F(head_bias, HEAD_BIAS)},
    {{"use_parallel_residual"}, FLAG_F(use_parallel_residual, PARALLEL_RESIDUAL)},
    {{"scale_attn_weights"}, FLAG_F(scales_scores, SCALE_ATTN_WEIGHTS)},
    {{"scale_attn_by_inverse_layer_idx"}, FLAG_F(scales_by_layer, SCALE_ATTN_BY_LAYER)},
    {{"reorder_and_upcast_attn"}, FLAG_F(upcasts_scores, UPCAST_ATTN)},
    {{"add_cross_attention"}, FLAG_F(cross_attends, CROSS_ATTENTION)},
    {{"alibi"}, FLAG_F(alibi, ALIBI)},
    {{"use_qk_norm"}, FLAG_F(use_qk_norm, QK_NORM)},
    {{"qk_layernorm"}, FLAG_F(qk_layernorm, QK_LAYERNORM)},
    {{"rope_interleaved", "rotary_emb_interleaved"}, FLAG_F(rope_interleaved, ROPE_INTERLEAVED)},

    {{"sliding_window", "window_size"}, SIZE_F(sliding_window, BATON_MAX_CONTEXT, SLIDING_WINDOW)},
    {{"use_sliding_window"}, FLAG_F(use_sliding_window, USE_SLIDING_WINDOW)},
    {{"max_window_layers"}, SIZE(max_window_layers, 0, BATON_MAX_LAYERS)},
    {{"sliding_window_pattern", "_sliding_window_pattern"},
     BATON_CONFIG_PATTERN,
     AT(sliding_window_pattern),
     0,
     BATON_MAX_LAYERS,
     BATON_FEATURE(WINDOW_PATTERN)},

    {{"attn_logit_softcapping"}, REAL_F(score_cap, SCORE_CAP)},
    {{"final_logit_softcapping"}, REAL_F(logit_cap, LOGIT_CAP)},
    {{"query_pre_attn_scalar"}, REAL_F(query_scalar, QUERY_SCALAR)},
    {{"clip_qkv"}, REAL_F(clip_qkv, CLIP_QKV)},
    {{"embedding_multiplier"}, REAL_F(embedding_multiplier, EMBEDDING_MULTIPLIER)},
    {{"residual_multiplier"}, REAL_F(residual_multiplier, RESIDUAL_MULTIPLIER)},
    {{"attention_multiplier"}, REAL_F(attention_multiplier, ATTENTION_MULTIPLIER)},
    {{"logits_scaling"}, REAL_F(logits_scaling, LOGITS_SCALING)},
    {{"logit_scale"}, REAL_F(logit_scale, LOGIT_SCALE)},
    {{"scale_emb"}, REAL_F(scale_emb, SCALE_EMB)},
    {{"scale_depth"}, REAL_F(scale_depth, SCALE_DEPTH)},
    {{"dim_model_base"}, REAL_F(dim_model_base, DIM_MODEL_BASE)},

    {{"rope_theta", "rotary_emb_base", "theta"}, REAL(rope.theta, 1 + 1e-9, 1e12)},
    {{"partial_rotary_factor", "rotary_pct", "rotary_emb_fraction"},
     REAL(rope.partial_rotary_factor, 1e-9, 1)},
    {{"rope_local_base_freq"},
     BATON_CONFIG_REAL,
     AT(local_rope.theta),
     1 + 1e-9,
     1e12,
     BATON_FEATURE(LOCAL_ROPE)},
    {{"rotary_dim"}, SIZE_F(rotary_dim, BATON_MAX_WIDTH, ROTARY_DIM)},
    {{"position_embedding_type"}, TEXT(position_embedding_type)},
    {{"no_rope_layer_interval"}, SIZE(no_rope_interval, 0, BATON_MAX_LAYERS)},

    {{"linear_conv_kernel_dim", "conv_L_cache", "mamba_d_conv", "conv_kernel"}, SIZE(n_taps, 2, 4)},
    {{"linear_num_key_heads", "mamba_n_groups", "n_groups"},
     SIZE(n_state_key_heads, 1, BATON_MAX_WIDTH)},
    {{"linear_num_value_heads", "mamba_n_heads", "mamba_num_heads"},
     SIZE(n_state_heads, 1, BATON_MAX_WIDTH)},
    {{"linear_key_head_dim", "mamba_d_state", "ssm_state_size"},
     SIZE(n_state_keys, 1, BATON_MAX_WIDTH)},
    {{"linear_value_head_dim", "mamba_d_head", "mamba_head_dim"},
     SIZE(n_state_values, 1, BATON_MAX_WIDTH)},
    {{"mamba_expand"}, SIZE(state_expand, 1, BATON_MAX_WIDTH)},
    {{"conv_bias", "mamba_conv_bias", "use_conv_bias"}, FLAG(taps_bias)},
    {{"mamba_proj_bias"}, FLAG(state_proj_bias)},
    {{"mamba_hidden_act"}, TEXT(state_act)},
    {{"block_ff_dim"}, SIZE(block_n_ff, 1, BATON_MAX_WIDTH)},
    {{"block_multiple_of"}, SIZE(ff_multiple, 1, BATON_MAX_WIDTH)},
    {{"block_ffn_dim_multiplier"}, REAL(ff_multiplier, 1e-3, 1e3)},
    {{"block_auto_adjust_ff_dim"}, FLAG(adjusts_n_ff)},
    {{"full_attention_interval"}, SIZE(full_interval, 1, BATON_MAX_LAYERS)},
    {{"attn_output_gate"}, FLAG(out_gate)},

    {{"kv_lora_rank"}, SIZE_F(kv_rank, BATON_MAX_WIDTH, LATENTS)},
    {{"q_lora_rank"}, SIZE(q_rank, 0, BATON_MAX_WIDTH)},
    {{"qk_nope_head_dim"}, SIZE(n_plain, 1, BATON_MAX_WIDTH)},
    {{"qk_rope_head_dim"}, SIZE(n_turned, 1, BATON_MAX_ROTARY_PAIRS * 2)},
    {{"v_head_dim"}, SIZE(n_head_values, 1, BATON_MAX_WIDTH)},
    {{"index_topk"}, SIZE(n_indexed, 0, BATON_MAX_CONTEXT)},
    {{"rope_interleave"}, FLAG(rope_interleave)},
    {{"n_group"}, SIZE(n_expert_groups, 0, BATON_MAX_EXPERTS)},
    {{"topk_group"}, SIZE(n_kept_groups, 0, BATON_MAX_EXPERTS)},
    {{"first_k_dense_replace"}, SIZE(n_first_dense, 0, BATON_MAX_LAYERS)},
    {{"moe_layer_freq"}, SIZE(moe_frequency, 1, BATON_MAX_LAYERS)},
    {{"scoring_func"}, TEXT(scoring)},
    {{"topk_method"}, TEXT(choice)},
    {{"routed_scaling_factor"}, REAL(expert_scale, 1e-9, 1e9)},

    {{"num_experts", "num_local_experts", "n_routed_experts"},
     SIZE_F(n_experts, BATON_MAX_EXPERTS, EXPERTS)},
    {{"num_experts_per_tok", "experts_per_token", "top_k_experts", "moe_top_k"},
     SIZE(n_experts_chosen, 0, BATON_MAX_EXPERTS)},
    {{"moe_intermediate_size"}, SIZE(moe_n_ff, 0, BATON_MAX_WIDTH)},
    {{"shared_expert_intermediate_size"}, SIZE_F(shared_n_ff, BATON_MAX_WIDTH, SHARED_EXPERT)},
    {{"shared_intermediate_size"}, SIZE_F(shared_mlp_n_ff, BATON_MAX_WIDTH, SHARED_MLP)},
    {{"n_shared_experts", "num_shared_experts"},
     SIZE_F(n_shared_experts, BATON_MAX_EXPERTS, SHARED_EXPERTS)},
    {{"decoder_sparse_step"},
     BATON_CONFIG_SIZE,
     AT(decoder_sparse_step),
     1,
     BATON_MAX_LAYERS,
     BATON_FEATURE(SPARSE_STEP)},
    {{"num_dense_layers"}, SIZE(n_dense_layers, 0, BATON_MAX_LAYERS)},
    {{"moe_shared_expert_intermediate_size"}, SIZE(moe_shared_n_ff, 1, BATON_MAX_WIDTH)},
    {{"moe_latent_size"}, SIZE(moe_latent, 0, BATON_MAX_WIDTH)},
    {{"use_expert_bias"}, FLAG(expert_bias)},
    {{"enable_moe_block"}, FLAG_F(moe_block, MOE_BLOCK)},
    {{"global_head_dim"}, SIZE_F(global_head_dim, BATON_MAX_WIDTH, GLOBAL_HEAD_DIM)},
    {{"num_global_key_value_heads"}, SIZE(n_global_kv_heads, 1, BATON_MAX_WIDTH)},
    {{"attention_k_eq_v"}, FLAG_F(k_eq_v, K_EQ_V)},
    {{"num_kv_shared_layers"}, SIZE_F(n_kv_shared, BATON_MAX_LAYERS, KV_SHARED)},
    {{"use_double_wide_mlp"}, FLAG_F(double_wide_mlp, DOUBLE_WIDE_MLP)},
    {{"hidden_size_per_layer_input"}, SIZE_F(n_per_layer, BATON_MAX_WIDTH, PER_LAYER_INPUT)},
    {{"vocab_size_per_layer_input"}, SIZE(n_vocab_per_layer, 1, BATON_MAX_VOCAB)},
    {{"norm_topk_prob", "moe_normalize_expert_weights"}, FLAG(norm_topk_prob)},
    {{"swiglu_limit"}, REAL_F(swiglu_limit, SWIGLU_LIMIT)},
    {{"swiglu_alpha"}, REAL_F(swiglu_alpha, SWIGLU_ALPHA)},

    {{"pad_token_id"}, SIZE(pad_id, 0, BATON_MAX_VOCAB)},
    {{"type_vocab_size"}, SIZE(n_token_types, 0, 1 << 10)},
    {{"max_trained_positions"}, SIZE(trained_context, 1, BATON_MAX_CONTEXT)},
    {{"is_decoder"}, FLAG(is_decoder)},
    {{"causal"}, FLAG(is_causal)},
    {{"prenorm"}, FLAG(is_prenorm)},
    {{"use_rms_norm"}, FLAG(uses_rms_norm)},
    {{"parallel_block"}, FLAG(is_parallel)},
    {{"mlp_fc2_bias"}, FLAG(mlp_out_bias)},
    {{"moe_every_n_layers"}, SIZE(moe_interval, 0, BATON_MAX_LAYERS)},
    {{"expert_choice_router"}, FLAG(expert_choice)},
    {{"rotary_scaling_factor"}, REAL(rotary_scaling_factor, 1e-9, 1e9)},
    {{"rotary_emb_scale_base"}, REAL(rotary_scale_base, 1e-9, 1e9)},
};
/* clang-format on */

enum { N_ROWS = BATON_N_OF(rows) };

/* The neutral values are those under which an architecture computes what it would without the key,
 * so only a differing value becomes a choice. */
const CONFIG baton_model_config_unsaid = {
    .mlp_type = "default",
    .norm_type = "layer_norm",
    .tied_head = true,
    .use_parallel_residual = true,
    .scales_scores = true,
    .embedding_multiplier = 1,
    .residual_multiplier = 1,
    .logits_scaling = 1,
    .logit_scale = 1,
    .scale_emb = 1,
    .rope = {.truncate = true},
    .local_rope = {.truncate = true},
    .out_gate = true,
    .expert_scale = 1,
    .most_time_step = INFINITY,
    .decoder_sparse_step = 1,
    .rope_interleave = true,
    .moe_frequency = 1,
    .scoring = "softmax",
    .choice = "greedy",
    .swiglu_limit = 7,
    .swiglu_alpha = 1.702,
    .n_token_types = 2,
    .bos_id = -1,
    .fim_ids = {-1, -1, -1, -1, -1, -1},
    .sampling = {-1, -1, -1, -1, -1},
};

const struct baton_config_table baton_model_config_keys = {rows, N_ROWS,
                                                           &baton_model_config_unsaid};

/* Writes "num_hidden_layers (n_layer, num_layers)". */
static void put_names(const struct baton_config_row *row, char *text, size_t max)
{
    int n = snprintf(text, max, "%s", row->names[0]);
    for (int i = 1; i < BATON_CONFIG_MAX_NAMES && row->names[i]; i++)
        n += snprintf(text + n, max - (size_t)n, "%s%s", i == 1 ? " (" : ", ", row->names[i]);
    if (row->names[1])
        (void)snprintf(text + n, max - (size_t)n, ")");
}

enum baton_err baton_model_config_require(const struct baton_model_config *config, const int *size,
                                          struct baton_why *why)
{
    size_t at = (size_t)((const char *)size - (const char *)config);
    char names[BATON_FEATURE_TEXT_BYTES];
    if (*size)
        return BATON_OK;
    for (size_t i = 0; i < N_ROWS; i++) {
        if (rows[i].at != at)
            continue;
        put_names(&rows[i], names, sizeof names);
        return baton_fail(why, BATON_INVALID, "%s: must be given, a whole number in %.0f..%.0f",
                          names, rows[i].min, rows[i].max);
    }
    return baton_fail(why, BATON_INTERNAL, "not a size of a config");
}

static void put_field(const struct baton_config_row *row, const CONFIG *config, char *text)
{
    const char *field = (const char *)config + row->at;
    size_t n = strlen(text), left = BATON_FEATURE_TEXT_BYTES - n;
    int size = 0;
    double number = 0;
    if (row->kind == BATON_CONFIG_SIZE || row->kind == BATON_CONFIG_PATTERN) {
        memcpy(&size, field, sizeof size);
        (void)snprintf(text + n, left, ": %d", size);
    } else if (row->kind == BATON_CONFIG_REAL) {
        memcpy(&number, field, sizeof number);
        (void)snprintf(text + n, left, ": %g", number);
    } else if (row->kind == BATON_CONFIG_FLAG)
        (void)snprintf(text + n, left, ": %s", *field ? "true" : "false");
    else
        (void)snprintf(text + n, left, ": \"%.40s\"", field);
}

/* Features that are no single value, or are read elsewhere. */
static void put_part(const CONFIG *config, enum baton_model_feature feature, char *text)
{
    const struct {
        enum baton_model_feature feature;
        const char *name, *value, *quote;
    } parts[] = {
        {BATON_FEATURE_QUANTIZATION, "quantization_config", config->quantization, "\""},
        {BATON_FEATURE_ROPE_SCALING, "rope_scaling", config->rope.type, "\""},
        {BATON_FEATURE_MROPE, "rope_scaling.mrope_section", "a list", ""},
        {BATON_FEATURE_LAYER_TYPES, "layer_types", "sliding_attention", "\""},
        {BATON_FEATURE_LINEAR_LAYERS, "layer_types", baton_model_config_state_type(config), "\""},
        {BATON_FEATURE_NO_ROPE_LAYERS, "no_rope_layers", "0", ""},
        {BATON_FEATURE_DENSE_LAYERS, "mlp_only_layers", "a list", ""},
        {BATON_FEATURE_SPARSE_ATTENTION, "sparse_config", "an object", ""},
        {BATON_FEATURE_PER_LAYER_CONFIG, "per_layer_config", "an object", ""},
        {BATON_FEATURE_BIDIRECTIONAL, "use_bidirectional_attention", "true", ""},
    };
    for (size_t i = 0; i < BATON_N_OF(parts); i++)
        if (parts[i].feature == feature)
            (void)snprintf(text, BATON_FEATURE_TEXT_BYTES, "%s: %s%.40s%s", parts[i].name,
                           parts[i].quote, parts[i].value, parts[i].quote);
    if (feature == BATON_FEATURE_PARTIAL_ROTARY)
        (void)snprintf(text, BATON_FEATURE_TEXT_BYTES, "partial_rotary_factor: %g",
                       config->rope.partial_rotary_factor);
    else if (feature == BATON_FEATURE_ROPE_ALPHA)
        (void)snprintf(text, BATON_FEATURE_TEXT_BYTES, "rope_scaling.alpha: %g",
                       config->rope.alpha);
    else if (feature == BATON_FEATURE_QUERY_SCALING)
        (void)snprintf(text, BATON_FEATURE_TEXT_BYTES, "llama_4_scaling_beta: %g",
                       config->rope.query_scaling_beta);
}

const char *baton_model_config_feature(const struct baton_model_config *config,
                                       enum baton_model_feature feature,
                                       char text[BATON_FEATURE_TEXT_BYTES])
{
    (void)snprintf(text, BATON_FEATURE_TEXT_BYTES, "a feature of no config");
    for (size_t i = 0; i < N_ROWS; i++)
        if (rows[i].feature == UINT64_C(1) << feature) {
            put_names(&rows[i], text, BATON_FEATURE_TEXT_BYTES);
            put_field(&rows[i], config, text);
        }
    put_part(config, feature, text);
    return text;
}
