/* Source: huggingface/transformers, src/transformers/models/FAMILY/configuration_FAMILY.py;
 * minicpm: openbmb/MiniCPM-2B-sft-bf16 and MiniCPM3-4B, configuration_minicpm.py. */
#include "engine/checkpoint/config/defaults.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/base/array.h"

#define QWEN_HYBRID(n_kv_heads)                                                                    \
    "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000, 'head_dim': 256,"           \
    " 'partial_rotary_factor': 0.25, 'max_position_embeddings': 32768,"                            \
    " 'num_key_value_heads': " #n_kv_heads ", 'linear_conv_kernel_dim': 4,"                        \
    " 'linear_key_head_dim': 128, 'linear_value_head_dim': 128, 'linear_num_key_heads': 16,"       \
    " 'linear_num_value_heads': 32, 'full_attention_interval': 4, 'tie_word_embeddings': false"
#define QWEN_HYBRID_MOE(n_experts, n_chosen)                                                       \
    ", 'num_experts': " #n_experts ", 'num_experts_per_tok': " #n_chosen                           \
    ", 'intermediate_size': 5632"                                                                  \
    ", 'moe_intermediate_size': 512, 'shared_expert_intermediate_size': 512,"                      \
    " 'norm_topk_prob': true}"

#define GEMMA4(n_context, window)                                                                  \
    "{'hidden_activation': 'gelu_pytorch_tanh', 'rms_norm_eps': 1e-6, 'vocab_size': 262144,"       \
    " 'hidden_size': 2304, 'intermediate_size': 9216, 'num_hidden_layers': 30,"                    \
    " 'num_attention_heads': 8, 'num_key_value_heads': 4, 'head_dim': 256,"                        \
    " 'global_head_dim': 512, 'max_position_embeddings': " #n_context                              \
    ", 'sliding_window': " #window ", 'sliding_window_pattern': 6, 'rope_parameters':"             \
    " {'sliding_attention': {'rope_type': 'default', 'rope_theta': 10000}, 'full_attention':"      \
    " {'rope_type': 'proportional', 'partial_rotary_factor': 0.25, 'rope_theta': 1000000}}"

#define DEEPSEEK_V3                                                                                \
    "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"                            \
    " 'max_position_embeddings': 4096, 'q_lora_rank': 1536, 'kv_lora_rank': 512,"                  \
    " 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128,"                         \
    " 'n_routed_experts': 256, 'n_shared_experts': 1, 'num_experts_per_tok': 8,"                   \
    " 'n_group': 8, 'topk_group': 4, 'moe_intermediate_size': 2048,"                               \
    " 'first_k_dense_replace': 3, 'norm_topk_prob': true,"                                         \
    " 'routed_scaling_factor': 2.5, 'scoring_func': 'sigmoid',"                                    \
    " 'topk_method': 'noaux_tc', 'tie_word_embeddings': false}"

#define LFM2                                                                                       \
    "{'hidden_act': 'silu', 'norm_eps': 1e-5, 'rope_theta': 1000000,"                              \
    " 'max_position_embeddings': 128000, 'num_key_value_heads': 8, 'conv_L_cache': 3,"

static const struct {
    const char *model_type, *text;
} defaults[] = {
    {"gpt2", "{'activation_function': 'gelu_new', 'layer_norm_epsilon': 1e-5}"},
    {"gpt_neo", "{'activation_function': 'gelu_new', 'layer_norm_epsilon': 1e-5,"
                " 'sliding_window': 256}"},
    {"gptj", "{'activation_function': 'gelu_new', 'layer_norm_epsilon': 1e-5, 'rotary_dim': 64,"
             " 'rope_theta': 10000, 'n_positions': 2048, 'tie_word_embeddings': false}"},
    {"gpt_neox", "{'hidden_act': 'gelu', 'layer_norm_eps': 1e-5, 'partial_rotary_factor': 0.25,"
                 " 'rope_theta': 10000, 'max_position_embeddings': 2048, 'attention_bias': true,"
                 " 'tie_word_embeddings': false}"},
    {"llama", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
              " 'max_position_embeddings': 2048, 'tie_word_embeddings': false}"},
    {"smollm3", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 2000000,"
                " 'max_position_embeddings': 32768, 'num_key_value_heads': 4,"
                " 'no_rope_layer_interval': 4}"},
    {"mistral", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
                " 'max_position_embeddings': 131072, 'num_key_value_heads': 8,"
                " 'sliding_window': 4096, 'tie_word_embeddings': false}"},
    {"ministral3", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'head_dim': 128,"
                   " 'max_position_embeddings': 262144, 'num_key_value_heads': 8,"
                   " 'tie_word_embeddings': false, 'rope_parameters': {'rope_type': 'yarn',"
                   " 'rope_theta': 1000000, 'factor': 16, 'beta_fast': 32, 'beta_slow': 1,"
                   " 'original_max_position_embeddings': 16384, 'mscale': 1, 'mscale_all_dim': 1,"
                   " 'llama_4_scaling_beta': 0.1}}"},
    {"mixtral", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 1000000,"
                " 'max_position_embeddings': 131072, 'num_key_value_heads': 8,"
                " 'num_local_experts': 8, 'num_experts_per_tok': 2,"
                " 'tie_word_embeddings': false}"},
    {"qwen2", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
              " 'max_position_embeddings': 32768, 'num_key_value_heads': 32,"
              " 'sliding_window': 4096, 'max_window_layers': 28, 'tie_word_embeddings': false}"},
    {"qwen2_moe", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
                  " 'max_position_embeddings': 32768, 'num_key_value_heads': 16,"
                  " 'sliding_window': 4096, 'max_window_layers': 28, 'num_experts': 60,"
                  " 'num_experts_per_tok': 4, 'moe_intermediate_size': 1408, 'qkv_bias': true,"
                  " 'shared_expert_intermediate_size': 5632, 'tie_word_embeddings': false}"},
    {"qwen3", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000, 'head_dim': 128,"
              " 'max_position_embeddings': 32768, 'num_key_value_heads': 32,"
              " 'sliding_window': 4096, 'max_window_layers': 28, 'tie_word_embeddings': false}"},
    {"qwen3_moe", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
                  " 'max_position_embeddings': 32768, 'num_key_value_heads': 4,"
                  " 'sliding_window': 4096, 'num_experts': 128, 'num_experts_per_tok': 8,"
                  " 'moe_intermediate_size': 768, 'tie_word_embeddings': false}"},
    {"qwen2_5_vl_text", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 1000000,"
                        " 'max_position_embeddings': 32768, 'num_key_value_heads': 8,"
                        " 'sliding_window': 4096, 'max_window_layers': 80,"
                        " 'tie_word_embeddings': false}"},
    {"qwen3_vl_text", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 500000,"
                      " 'max_position_embeddings': 128000, 'num_key_value_heads': 32,"
                      " 'head_dim': 128, 'tie_word_embeddings': false}"},
    {"qwen3_5_text", QWEN_HYBRID(4) "}"},
    {"qwen3_5_moe_text", QWEN_HYBRID(2) QWEN_HYBRID_MOE(256, 8)},
    {"qwen3_next", QWEN_HYBRID(2) QWEN_HYBRID_MOE(512, 10)},
    {"gemma", "{'hidden_act': 'gelu_pytorch_tanh', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
              " 'max_position_embeddings': 8192, 'num_key_value_heads': 16, 'head_dim': 256}"},
    {"gemma2", "{'hidden_activation': 'gelu_pytorch_tanh', 'rms_norm_eps': 1e-6,"
               " 'rope_theta': 10000, 'max_position_embeddings': 8192, 'num_key_value_heads': 4,"
               " 'head_dim': 256, 'query_pre_attn_scalar': 256, 'sliding_window': 4096,"
               " 'attn_logit_softcapping': 50, 'final_logit_softcapping': 30}"},
    {"gemma3_text", "{'hidden_activation': 'gelu_pytorch_tanh', 'rms_norm_eps': 1e-6,"
                    " 'rope_theta': 1000000, 'rope_local_base_freq': 10000,"
                    " 'max_position_embeddings': 131072, 'vocab_size': 262208,"
                    " 'hidden_size': 2304, 'intermediate_size': 9216, 'num_hidden_layers': 26,"
                    " 'num_attention_heads': 8, 'num_key_value_heads': 4, 'head_dim': 256,"
                    " 'query_pre_attn_scalar': 256, 'sliding_window': 4096,"
                    " 'sliding_window_pattern': 6}"},
    {"gemma4_text", GEMMA4(131072, 512) ", 'hidden_size_per_layer_input': 256,"
                                        " 'vocab_size_per_layer_input': 262144}"},
    {"gemma4_unified_text", GEMMA4(262144, 1024) "}"},
    {"phi", "{'hidden_act': 'gelu_new', 'layer_norm_eps': 1e-5, 'rope_theta': 10000,"
            " 'partial_rotary_factor': 0.5, 'max_position_embeddings': 2048,"
            " 'tie_word_embeddings': false}"},
    {"phi3", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 10000,"
             " 'max_position_embeddings': 4096, 'original_max_position_embeddings': 4096,"
             " 'tie_word_embeddings': false}"},
    {"granite",
     "{'attention_multiplier': 1, 'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
     " 'max_position_embeddings': 2048, 'tie_word_embeddings': false}"},
    {"granitemoe",
     "{'attention_multiplier': 1, 'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
     " 'max_position_embeddings': 2048, 'num_local_experts': 8,"
     " 'num_experts_per_tok': 2, 'tie_word_embeddings': false}"},
    {"granitemoeshared",
     "{'attention_multiplier': 1, 'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
     " 'max_position_embeddings': 2048, 'num_local_experts': 8,"
     " 'num_experts_per_tok': 2, 'tie_word_embeddings': false}"},
    {"granitemoehybrid",
     "{'attention_multiplier': 1, 'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
     " 'max_position_embeddings': 2048, 'shared_intermediate_size': 1024, 'num_local_experts': 8,"
     " 'num_experts_per_tok': 2, 'mamba_n_heads': 128, 'mamba_n_groups': 1, 'mamba_d_state': 256,"
     " 'mamba_d_conv': 4, 'mamba_expand': 2, 'mamba_conv_bias': true,"
     " 'tie_word_embeddings': false}"},
    {"nemotron_h",
     "{'mlp_hidden_act': 'relu2', 'layer_norm_epsilon': 1e-5, 'rope_theta': 10000,"
     " 'max_position_embeddings': 4096, 'head_dim': 128, 'num_key_value_heads': 8,"
     " 'ssm_state_size': 128, 'mamba_num_heads': 128, 'mamba_head_dim': 64, 'n_groups': 8,"
     " 'conv_kernel': 4, 'use_conv_bias': true, 'mamba_hidden_act': 'silu', 'n_group': 1,"
     " 'topk_group': 1, 'n_shared_experts': 1, 'norm_topk_prob': true,"
     " 'tie_word_embeddings': false}"},
    {"lfm2", LFM2 " 'block_multiple_of': 256, 'block_ffn_dim_multiplier': 1,"
                  " 'block_auto_adjust_ff_dim': true}"},
    {"lfm2_moe", LFM2 " 'num_dense_layers': 2, 'num_experts': 32, 'num_experts_per_tok': 4,"
                      " 'moe_intermediate_size': 1792, 'use_expert_bias': true,"
                      " 'routed_scaling_factor': 1, 'norm_topk_prob': true}"},
    {"seed_oss", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
                 " 'max_position_embeddings': 524288, 'num_key_value_heads': 8, 'head_dim': 128,"
                 " 'attention_bias': true, 'tie_word_embeddings': false}"},
    {"ernie4_5", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 500000,"
                 " 'max_position_embeddings': 131072, 'num_key_value_heads': 2, 'head_dim': 128}"},
    {"arcee", "{'hidden_act': 'relu2', 'rms_norm_eps': 1e-5, 'rope_theta': 10000,"
              " 'max_position_embeddings': 4096, 'tie_word_embeddings': false}"},
    {"apertus", "{'hidden_act': 'xielu', 'rms_norm_eps': 1e-5, 'rope_theta': 12000000,"
                " 'max_position_embeddings': 65536, 'tie_word_embeddings': false,"
                " 'rope_scaling': {'rope_type': 'llama3', 'factor': 8, 'low_freq_factor': 1,"
                " 'high_freq_factor': 4, 'original_max_position_embeddings': 8192}}"},
    {"olmo2", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 10000,"
              " 'max_position_embeddings': 2048, 'tie_word_embeddings': false}"},
    {"olmo3", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 10000,"
              " 'max_position_embeddings': 2048, 'sliding_window': 4096,"
              " 'sliding_window_pattern': 4, 'tie_word_embeddings': false}"},
    {"exaone4", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 10000,"
                " 'max_position_embeddings': 2048, 'num_key_value_heads': 32,"
                " 'sliding_window': 4096, 'sliding_window_pattern': 4,"
                " 'tie_word_embeddings': false}"},
    {"hunyuan_v1_dense", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 10000,"
                         " 'max_position_embeddings': 2048, 'tie_word_embeddings': false}"},
    {"olmoe", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 10000,"
              " 'max_position_embeddings': 4096, 'num_experts': 64, 'num_experts_per_tok': 8,"
              " 'tie_word_embeddings': false}"},
    {"cohere", "{'hidden_act': 'silu', 'layer_norm_eps': 1e-5, 'rope_theta': 10000,"
               " 'max_position_embeddings': 8192, 'logit_scale': 0.0625}"},
    {"cohere2", "{'hidden_act': 'silu', 'layer_norm_eps': 1e-5, 'rope_theta': 10000,"
                " 'max_position_embeddings': 8192, 'logit_scale': 0.0625,"
                " 'sliding_window': 4096, 'sliding_window_pattern': 4}"},
    {"glm4", "{'hidden_act': 'silu', 'rms_norm_eps': 1.5625e-7, 'rope_theta': 10000,"
             " 'partial_rotary_factor': 0.5, 'max_position_embeddings': 131072,"
             " 'num_key_value_heads': 2, 'head_dim': 128, 'attention_bias': true,"
             " 'tie_word_embeddings': false}"},
    {"deepseek_v2", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
                    " 'max_position_embeddings': 2048, 'q_lora_rank': 1536, 'kv_lora_rank': 512,"
                    " 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128,"
                    " 'num_experts_per_tok': 2, 'moe_intermediate_size': 1407,"
                    " 'tie_word_embeddings': false}"},
    {"deepseek_v3", DEEPSEEK_V3},
    {"kimi_k2", DEEPSEEK_V3}, /* its class has no defaults of its own */
    {"glm4_moe_lite", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 10000,"
                      " 'max_position_embeddings': 202752, 'q_lora_rank': 768,"
                      " 'kv_lora_rank': 512, 'qk_nope_head_dim': 192, 'qk_rope_head_dim': 64,"
                      " 'v_head_dim': 256, 'n_routed_experts': 64, 'n_shared_experts': 1,"
                      " 'num_experts_per_tok': 4, 'n_group': 1, 'topk_group': 1,"
                      " 'moe_intermediate_size': 1536, 'first_k_dense_replace': 1,"
                      " 'norm_topk_prob': true, 'routed_scaling_factor': 1.8,"
                      " 'scoring_func': 'sigmoid', 'topk_method': 'noaux_tc',"
                      " 'tie_word_embeddings': false}"},
    {"starcoder2", "{'hidden_act': 'gelu_pytorch_tanh', 'norm_epsilon': 1e-5, 'use_bias': true,"
                   " 'rope_theta': 10000, 'max_position_embeddings': 4096,"
                   " 'num_key_value_heads': 2}"},
    {"minicpm", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
                " 'max_position_embeddings': 2048, 'scale_emb': 1, 'scale_depth': 1,"
                " 'dim_model_base': 1}"},
    {"minicpm3", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"
                 " 'max_position_embeddings': 2048, 'q_lora_rank': 768, 'kv_lora_rank': 256,"
                 " 'qk_nope_head_dim': 64, 'qk_rope_head_dim': 32, 'rope_interleave': false,"
                 " 'scale_emb': 1, 'scale_depth': 1, 'dim_model_base': 1}"},
    {"bert", "{'hidden_act': 'gelu', 'layer_norm_eps': 1e-12, 'max_position_embeddings': 512,"
             " 'pad_token_id': 0, 'type_vocab_size': 2}"},
    {"roberta", "{'hidden_act': 'gelu', 'layer_norm_eps': 1e-12, 'max_position_embeddings': 512,"
                " 'pad_token_id': 1, 'type_vocab_size': 2}"},
    {"xlm-roberta", "{'hidden_act': 'gelu', 'layer_norm_eps': 1e-12,"
                    " 'max_position_embeddings': 512, 'pad_token_id': 1, 'type_vocab_size': 2}"},
    {"nomic_bert", "{'activation_function': 'gelu', 'layer_norm_epsilon': 1e-5,"
                   " 'n_positions': 2048, 'type_vocab_size': 2, 'rotary_emb_base': 10000}"},
    {"gpt_oss", "{'hidden_act': 'silu', 'rms_norm_eps': 1e-5, 'rope_theta': 150000,"
                " 'max_position_embeddings': 131072, 'num_key_value_heads': 8, 'head_dim': 64,"
                " 'sliding_window': 128, 'attention_bias': true, 'num_local_experts': 128,"
                " 'num_experts_per_tok': 4, 'tie_word_embeddings': false,"
                " 'rope_scaling': {'rope_type': 'yarn', 'factor': 32, 'beta_fast': 32,"
                " 'beta_slow': 1, 'truncate': false,"
                " 'original_max_position_embeddings': 4096}}"},
};

const char *baton_model_defaults(const char *model_type)
{
    for (size_t i = 0; i < BATON_N_OF(defaults); i++)
        if (!strcmp(defaults[i].model_type, model_type))
            return defaults[i].text;
    return NULL;
}

/* Older files of Qwen's models of pictures have the text's keys beside the tower's. */
static const struct {
    const char *model_type, *text;
    bool is_flat;
} wrapped[] = {
    {"gemma4", "gemma4_text", false},      {"gemma4_unified", "gemma4_unified_text", false},
    {"gemma3", "gemma3_text", false},      {"mistral3", "mistral", false},
    {"qwen3_5", "qwen3_5_text", false},    {"qwen3_5_moe", "qwen3_5_moe_text", false},
    {"qwen3_vl", "qwen3_vl_text", false},  {"qwen2_5_vl", "qwen2_5_vl_text", true},
    {"qwen2_vl", "qwen2_5_vl_text", true}, {"qwen2_vl_text", "qwen2_5_vl_text", true},
};

const char *baton_model_wrapped(const char *wrapper)
{
    for (size_t i = 0; i < BATON_N_OF(wrapped); i++)
        if (!strcmp(wrapped[i].model_type, wrapper))
            return wrapped[i].text;
    return wrapper;
}

const char *baton_model_text_of(const char *model_type)
{
    for (size_t i = 0; i < BATON_N_OF(wrapped); i++)
        if (wrapped[i].is_flat && !strcmp(wrapped[i].model_type, model_type))
            return wrapped[i].text;
    return model_type;
}
