/* The named shapes. Source of the published sizes: the config.json of each model on Hugging
 * Face. */
#include "tools/support/machine/shapes.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/arch/arch.h"

static const char prefix[] = "shape:";

/* Shapes for tests: widths and head sizes that kernels must pad, and heads that are together wider
 * than the model. Rows of tiny-blocks are whole blocks of all of ggml's types. */
#define TINY                                                                                       \
    "'num_hidden_layers': 3, 'hidden_size': 96, 'intermediate_size': 152,"                         \
    " 'num_attention_heads': 6, 'num_key_value_heads': 2, 'vocab_size': 2560,"                     \
    " 'max_position_embeddings': 256"
#define TINY_WIDE   TINY ", 'head_dim': 24"
#define CLASS(name) "'architectures': ['" name "ForCausalLM'], "

#define GPT2                                                                                       \
    "'model_type': 'gpt2', 'architectures': ['GPT2LMHeadModel'], 'activation_function':"           \
    " 'gelu_new', 'layer_norm_epsilon': 1e-5, 'tie_word_embeddings': true, "
#define LLAMA                                                                                      \
    "'model_type': 'llama', " CLASS("Llama") "'hidden_act': 'silu', 'rms_norm_eps': 1e-5, "
#define LLAMA3_ROPE(times)                                                                         \
    "'rope_theta': 500000, 'rope_scaling': {'rope_type': 'llama3', 'factor': " #times              \
    ", 'low_freq_factor': 1, 'high_freq_factor': 4, 'original_max_position_embeddings': 8192}"
#define LLAMA_3_2_1B(n_layers, n_vocab)                                                            \
    LLAMA "'num_hidden_layers': " #n_layers ", 'hidden_size': 2048, 'head_dim': 64,"               \
          " 'num_attention_heads': 32, 'num_key_value_heads': 8, 'intermediate_size': 8192,"       \
          " 'vocab_size': " #n_vocab ", 'max_position_embeddings': 131072,"                        \
          " 'tie_word_embeddings': true, " LLAMA3_ROPE(32)
#define QWEN3                                                                                      \
    "'model_type': 'qwen3', " CLASS("Qwen3") "'hidden_act': 'silu', 'rms_norm_eps': 1e-6,"         \
                                             " 'rope_theta': 1000000, "
#define GEMMA3                                                                                     \
    "'model_type': 'gemma3_text', " CLASS(                                                         \
        "Gemma3") "'hidden_activation': 'gelu_pytorch_tanh',"                                      \
                  " 'rms_norm_eps': 1e-6, 'rope_theta': 1000000, 'rope_local_base_freq': 10000,"   \
                  " 'sliding_window_pattern': 6, 'query_pre_attn_scalar': 256, "                   \
                  "'tie_word_embeddings': true, "
/* The lists of layer types are left out: each n-th layer, and the last one, is global. */
#define GEMMA4_AS(n_context)                                                                       \
    "'model_type': 'gemma4_text', " CLASS(                                                         \
        "Gemma4") "'hidden_activation': 'gelu_pytorch_tanh', 'rms_norm_eps': 1e-6,"                \
                  " 'max_position_embeddings': " #n_context                                        \
                  ", 'final_logit_softcapping': 30, 'tie_word_embeddings': true,"                  \
                  " 'rope_parameters': {'full_attention': {'rope_type': 'proportional',"           \
                  " 'rope_theta': 1000000, 'partial_rotary_factor': 0.25}, 'sliding_attention':"   \
                  " {'rope_type': 'default', 'rope_theta': 10000}}, "
#define GEMMA4(n_context)                                                                          \
    GEMMA4_AS(n_context)                                                                           \
    "'vocab_size': 262144, 'head_dim': 256, 'global_head_dim': 512, "
#define GEMMA4_INPUTS                                                                              \
    "'sliding_window': 512, 'hidden_size_per_layer_input': 256,"                                   \
    " 'vocab_size_per_layer_input': 262144, "
#define GEMMA4_KEYS                                                                                \
    "'sliding_window': 1024, 'sliding_window_pattern': 6, 'hidden_size_per_layer_input': 0,"       \
    " 'attention_k_eq_v': true, "
#define QWEN3_MOE                                                                                  \
    "'model_type': 'qwen3_moe', " CLASS("Qwen3Moe") "'hidden_act': 'silu', 'rms_norm_eps': 1e-6,"  \
                                                    " 'rope_theta': 1000000, 'norm_topk_prob': "   \
                                                    "true, 'tie_word_embeddings': false, "
#define QWEN3_30B(n_layers, n_vocab)                                                               \
    QWEN3_MOE "'num_hidden_layers': " #n_layers ", 'hidden_size': 2048, 'head_dim': 128,"          \
              " 'num_attention_heads': 32, 'num_key_value_heads': 4, 'intermediate_size': 6144,"   \
              " 'moe_intermediate_size': 768, 'num_experts': 128, 'num_experts_per_tok': 8,"       \
              " 'vocab_size': " #n_vocab ", 'max_position_embeddings': 40960"
/* Three of four layers keep a state. */
#define QWEN3_5_AS(type, name)                                                                     \
    "'model_type': '" type "', " CLASS(name) "'hidden_act': 'silu', 'rms_norm_eps': 1e-6,"         \
                                             " 'rope_theta': 10000000, 'partial_rotary_factor':"   \
                                             " 0.25, 'attn_output_gate': true,"                    \
                                             " 'full_attention_interval': 4, "
#define QWEN3_5                                                                                    \
    QWEN3_5_AS("qwen3_5_text", "Qwen3_5")                                                          \
    "'vocab_size': 248320, 'max_position_embeddings': 262144, 'head_dim': 256,"                    \
    " 'linear_num_key_heads': 16, "
#define QWEN3_5_35B(n_layers, n_vocab)                                                             \
    QWEN3_5_AS("qwen3_5_moe_text", "Qwen3_5Moe")                                                   \
    "'num_hidden_layers': " #n_layers ", 'hidden_size': 2048, 'head_dim': 256,"                    \
    " 'num_attention_heads': 16, 'num_key_value_heads': 2, 'linear_num_key_heads': 16,"            \
    " 'linear_num_value_heads': 32, 'num_experts': 256, 'num_experts_per_tok': 8,"                 \
    " 'moe_intermediate_size': 512, 'shared_expert_intermediate_size': 512,"                       \
    " 'vocab_size': " #n_vocab ", 'max_position_embeddings': 262144,"                              \
    " 'tie_word_embeddings': false"
#define TINY_STATE                                                                                 \
    "'num_hidden_layers': 4, 'hidden_size': 96, 'num_attention_heads': 4,"                         \
    " 'num_key_value_heads': 2, 'head_dim': 32, 'vocab_size': 2560,"                               \
    " 'max_position_embeddings': 256, 'linear_key_head_dim': 16, 'linear_value_head_dim': 16,"     \
    " 'linear_num_key_heads': 2, 'linear_num_value_heads': 4"
#define TINY_STATE_EXPERTS                                                                         \
    ", 'num_experts': 6, 'num_experts_per_tok': 2, 'moe_intermediate_size': 24,"                   \
    " 'shared_expert_intermediate_size': 40, 'tie_word_embeddings': false"
#define DEEPSEEK_V2                                                                                \
    "'model_type': 'deepseek_v2', " CLASS(                                                         \
        "DeepseekV2") "'hidden_act': 'silu', 'rms_norm_eps': 1e-6, 'rope_theta': 10000,"           \
                      " 'norm_topk_prob': false, 'topk_method': 'greedy', 'scoring_func':"         \
                      " 'softmax', 'routed_scaling_factor': 1, 'first_k_dense_replace': 1,"        \
                      " 'n_shared_experts': 2, 'tie_word_embeddings': false, "
#define ATTENTION " 'attention',"
#define MAMBAS3   " 'mamba', 'mamba', 'mamba',"
#define MAMBAS4   MAMBAS3 " 'mamba',"
#define MAMBAS5   MAMBAS4 " 'mamba',"
#define GPT_OSS_20B(n_layers)                                                                      \
    "'model_type': 'gpt_oss', " CLASS(                                                             \
        "GptOss") "'hidden_act': 'silu', 'rms_norm_eps': 1e-5,"                                    \
                  " 'num_hidden_layers': " #n_layers ", 'hidden_size': 2880, 'head_dim': 64,"      \
                  " 'num_attention_heads': 64, 'num_key_value_heads': 8, 'intermediate_size': "    \
                  "2880,"                                                                          \
                  " 'num_local_experts': 32, 'num_experts_per_tok': 4, 'vocab_size': 201088,"      \
                  " 'max_position_embeddings': 131072, 'sliding_window': 128, 'attention_bias': "  \
                  "true,"                                                                          \
                  " 'tie_word_embeddings': false, 'rope_theta': 150000, 'rope_scaling': "          \
                  "{'rope_type': 'yarn',"                                                          \
                  " 'factor': 32, 'beta_fast': 32, 'beta_slow': 1, 'truncate': false,"             \
                  " 'original_max_position_embeddings': 4096}"

/* Configurations without their braces, with ' for ". */
/* clang-format off: texts */
static const struct {
    const char *name, *config;
} shapes[] = {
    {"distilgpt2", GPT2 "'n_layer': 6, 'n_embd': 768, 'n_head': 12, 'vocab_size': 50257,"
                        " 'n_positions': 1024"},
    {"gpt2", GPT2 "'n_layer': 12, 'n_embd': 768, 'n_head': 12, 'vocab_size': 50257,"
                  " 'n_positions': 1024"},
    {"gpt2-medium", GPT2 "'n_layer': 24, 'n_embd': 1024, 'n_head': 16, 'vocab_size': 50257,"
                         " 'n_positions': 1024"},
    {"gpt2-large", GPT2 "'n_layer': 36, 'n_embd': 1280, 'n_head': 20, 'vocab_size': 50257,"
                        " 'n_positions': 1024"},
    {"gpt2-xl", GPT2 "'n_layer': 48, 'n_embd': 1600, 'n_head': 25, 'vocab_size': 50257,"
                     " 'n_positions': 1024"},
    {"smollm2-135m", LLAMA "'num_hidden_layers': 30, 'hidden_size': 576, 'num_attention_heads': 9,"
                           " 'num_key_value_heads': 3, 'intermediate_size': 1536,"
                           " 'vocab_size': 49152, 'max_position_embeddings': 8192,"
                           " 'rope_theta': 100000, 'tie_word_embeddings': true"},
    {"llama-3.2-1b", LLAMA_3_2_1B(16, 128256)},
    {"llama-3.2-1b-2l", LLAMA_3_2_1B(2, 2560)},
    {"llama-3.2-3b",
     LLAMA "'num_hidden_layers': 28, 'hidden_size': 3072, 'head_dim': 128,"
           " 'num_attention_heads': 24, 'num_key_value_heads': 8,"
           " 'intermediate_size': 8192, 'vocab_size': 128256,"
           " 'max_position_embeddings': 131072, 'tie_word_embeddings': true, " LLAMA3_ROPE(32)},
    {"llama-3.1-8b",
     LLAMA "'num_hidden_layers': 32, 'hidden_size': 4096, 'head_dim': 128,"
           " 'num_attention_heads': 32, 'num_key_value_heads': 8,"
           " 'intermediate_size': 14336, 'vocab_size': 128256,"
           " 'max_position_embeddings': 131072, 'tie_word_embeddings': false, " LLAMA3_ROPE(8)},
    {"qwen3-0.6b", QWEN3 "'num_hidden_layers': 28, 'hidden_size': 1024, 'head_dim': 128,"
                         " 'num_attention_heads': 16, 'num_key_value_heads': 8,"
                         " 'intermediate_size': 3072, 'vocab_size': 151936,"
                         " 'max_position_embeddings': 40960, 'tie_word_embeddings': true"},
    {"gemma-3-1b", GEMMA3 "'num_hidden_layers': 26, 'hidden_size': 1152, 'head_dim': 256,"
                          " 'num_attention_heads': 4, 'num_key_value_heads': 1,"
                          " 'intermediate_size': 6912, 'vocab_size': 262144,"
                          " 'max_position_embeddings': 32768, 'sliding_window': 512"},
    {"gemma-3-4b", GEMMA3 "'num_hidden_layers': 34, 'hidden_size': 2560, 'head_dim': 256,"
                          " 'num_attention_heads': 8, 'num_key_value_heads': 4,"
                          " 'intermediate_size': 10240, 'vocab_size': 262208,"
                          " 'max_position_embeddings': 131072, 'sliding_window': 1024,"
                          " 'rope_scaling': {'rope_type': 'linear', 'factor': 8}"},
    {"gemma-4-e2b", GEMMA4(131072) GEMMA4_INPUTS
     "'num_hidden_layers': 35, 'hidden_size': 1536, 'num_attention_heads': 8,"
     " 'num_key_value_heads': 1, 'intermediate_size': 6144, 'sliding_window_pattern': 5,"
     " 'num_kv_shared_layers': 20, 'use_double_wide_mlp': true"},
    {"gemma-4-e4b", GEMMA4(131072) GEMMA4_INPUTS
     "'num_hidden_layers': 42, 'hidden_size': 2560, 'num_attention_heads': 8,"
     " 'num_key_value_heads': 2, 'intermediate_size': 10240, 'sliding_window_pattern': 6,"
     " 'num_kv_shared_layers': 18"},
    {"gemma-4-12b", GEMMA4(262144) GEMMA4_KEYS
     "'num_hidden_layers': 48, 'hidden_size': 3840, 'num_attention_heads': 16,"
     " 'num_key_value_heads': 8, 'num_global_key_value_heads': 1, 'intermediate_size': 15360"},
    {"gemma-4-26b-a4b", GEMMA4(262144) GEMMA4_KEYS
     "'num_hidden_layers': 30, 'hidden_size': 2816, 'num_attention_heads': 16,"
     " 'num_key_value_heads': 8, 'num_global_key_value_heads': 2, 'intermediate_size': 2112,"
     " 'enable_moe_block': true, 'num_experts': 128, 'top_k_experts': 8,"
     " 'moe_intermediate_size': 704"},
    {"gemma-4-31b", GEMMA4(262144) GEMMA4_KEYS
     "'num_hidden_layers': 60, 'hidden_size': 5376, 'num_attention_heads': 32,"
     " 'num_key_value_heads': 16, 'num_global_key_value_heads': 4, 'intermediate_size': 21504"},
    /* Fewer layers and a small vocabulary show the speed of its experts without its memory. */
    {"qwen3-30b-a3b", QWEN3_30B(48, 151936)},
    {"qwen3-30b-a3b-12l", QWEN3_30B(12, 151936)},
    {"qwen3-30b-a3b-2l", QWEN3_30B(2, 8192)},
    {"qwen3.5-0.8b",
     QWEN3_5 "'num_hidden_layers': 24, 'hidden_size': 1024, 'intermediate_size': 3584,"
             " 'num_attention_heads': 8, 'num_key_value_heads': 2,"
             " 'linear_num_value_heads': 16, 'tie_word_embeddings': true"},
    {"qwen3.5-4b",
     QWEN3_5 "'num_hidden_layers': 32, 'hidden_size': 2560, 'intermediate_size': 9216,"
             " 'num_attention_heads': 16, 'num_key_value_heads': 4,"
             " 'linear_num_value_heads': 32, 'tie_word_embeddings': true"},
    {"qwen3.5-35b-a3b", QWEN3_5_35B(40, 248320)},
    {"qwen3.5-35b-a3b-8l", QWEN3_5_35B(8, 248320)},
    {"deepseek-v2-lite",
     DEEPSEEK_V2 "'num_hidden_layers': 27, 'hidden_size': 2048, 'intermediate_size': 10944,"
                 " 'num_attention_heads': 16, 'num_key_value_heads': 16, 'q_lora_rank': null,"
                 " 'kv_lora_rank': 512, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64,"
                 " 'v_head_dim': 128, 'n_routed_experts': 64, 'num_experts_per_tok': 6,"
                 " 'moe_intermediate_size': 1408, 'vocab_size': 102400,"
                 " 'max_position_embeddings': 163840, 'rope_scaling': {'type': 'yarn',"
                 " 'factor': 40, 'beta_fast': 32, 'beta_slow': 1, 'mscale': 0.707,"
                 " 'mscale_all_dim': 0.707, 'original_max_position_embeddings': 4096}"},
    {"lfm2-1.2b",
     "'model_type': 'lfm2', " CLASS(
         "Lfm2") "'norm_eps': 1e-5, 'rope_theta': 1000000, 'num_hidden_layers': 16,"
                 " 'hidden_size': 2048, 'intermediate_size': 8192, 'num_attention_heads': 32,"
                 " 'num_key_value_heads': 8, 'vocab_size': 65536, 'conv_L_cache': 3,"
                 " 'max_position_embeddings': 128000, 'block_auto_adjust_ff_dim': false,"
                 " 'full_attn_idxs': [2, 5, 8, 10, 12, 14], 'tie_word_embeddings': true"},
    {"granite-4-h-micro",
     "'model_type': 'granitemoehybrid', " CLASS(
         "GraniteMoeHybrid") "'rms_norm_eps': 1e-5, 'num_hidden_layers': 40, 'hidden_size': 2048,"
                             " 'intermediate_size': 8192, 'shared_intermediate_size': 8192,"
                             " 'num_local_experts': 0, 'num_attention_heads': 32,"
                             " 'num_key_value_heads': 8, 'vocab_size': 100352,"
                             " 'max_position_embeddings': 131072, 'position_embedding_type':"
                             " 'nope', 'mamba_n_heads': 64, 'mamba_d_head': 64, 'mamba_d_state':"
                             " 128, 'mamba_n_groups': 1, 'mamba_d_conv': 4,"
                             " 'mamba_conv_bias': true, 'embedding_multiplier': 12,"
                             " 'residual_multiplier': 0.22, 'attention_multiplier': 0.015625,"
                             " 'logits_scaling': 8, 'tie_word_embeddings': true, 'layer_types':"
                             " [" MAMBAS5 ATTENTION MAMBAS5 MAMBAS4 ATTENTION MAMBAS5 MAMBAS4
                                 ATTENTION MAMBAS5 MAMBAS4 ATTENTION MAMBAS3 " 'mamba']"},
    {"gpt-oss-20b", GPT_OSS_20B(24)},
    {"gpt-oss-20b-6l", GPT_OSS_20B(6)},
    {"tiny", GPT2 "'n_layer': 2, 'n_embd': 80, 'n_head': 4, 'vocab_size': 2560,"
                  " 'n_positions': 256"},
    {"tiny-gpt_neo",
     "'model_type': 'gpt_neo', " CLASS(
         "GPTNeo") "'num_layers': 3,"
                   " 'hidden_size': 96, 'num_heads': 6, 'vocab_size': 2560, 'window_size': 9,"
                   " 'max_position_embeddings': 256, 'attention_types': [[['global', 'local',"
                   " 'global'], 1]], 'activation_function': 'gelu_new'"},
    {"tiny-gpt_neox",
     "'model_type': 'gpt_neox', " CLASS(
         "GPTNeoX") "'num_hidden_layers': 3,"
                    " 'hidden_size': 96, 'num_attention_heads': 6, 'intermediate_size': 152,"
                    " 'vocab_size': 2560, 'max_position_embeddings': 256, 'rotary_pct': 0.25,"
                    " 'hidden_act': 'gelu', 'layer_norm_eps': 1e-5, 'rotary_emb_base': 10000,"
                    " 'use_parallel_residual': true, 'tie_word_embeddings': false"},
    {"tiny-gptj",
     "'model_type': 'gptj', " CLASS(
         "GPTJ") "'n_layer': 3, 'n_embd': 96,"
                 " 'n_head': 6, 'rotary_dim': 8, 'vocab_size': 2560, 'n_positions': 256,"
                 " 'activation_function': 'gelu_new', 'layer_norm_epsilon': 1e-5,"
                 " 'tie_word_embeddings': false"},
    {"tiny-llama", LLAMA TINY_WIDE ", 'rope_theta': 10000, 'tie_word_embeddings': false"},
    {"tiny-blocks", LLAMA "'num_hidden_layers': 3, 'hidden_size': 256, 'intermediate_size': 512,"
                          " 'num_attention_heads': 4, 'num_key_value_heads': 2,"
                          " 'vocab_size': 2560, 'max_position_embeddings': 256,"
                          " 'rope_theta': 10000, 'tie_word_embeddings': false"},
    {"tiny-smollm3", "'model_type': 'smollm3', " CLASS("SmolLM3") TINY
     ", 'no_rope_layers': [1, 0, 1], 'tie_word_embeddings': true"},
    {"tiny-mistral", "'model_type': 'mistral', " CLASS("Mistral") TINY_WIDE
     ", 'sliding_window': 9, 'tie_word_embeddings': false"},
    {"tiny-ministral3", "'model_type': 'ministral3', " CLASS("Ministral3") TINY_WIDE
     ", 'tie_word_embeddings': true, 'rope_parameters': {'rope_type': 'yarn',"
     " 'rope_theta': 1000000, 'factor': 16, 'beta_fast': 32, 'beta_slow': 1,"
     " 'original_max_position_embeddings': 16, 'mscale': 1,"
     " 'mscale_all_dim': 1, 'llama_4_scaling_beta': 0.1}"},
    {"tiny-mixtral", "'model_type': 'mixtral', " CLASS("Mixtral") TINY
     ", 'num_local_experts': 4, 'num_experts_per_tok': 2, 'sliding_window': null,"
     " 'tie_word_embeddings': false"},
    {"tiny-qwen2", "'model_type': 'qwen2', " CLASS("Qwen2") TINY
     ", 'use_sliding_window': false, 'tie_word_embeddings': true"},
    {"tiny-qwen2_moe", "'model_type': 'qwen2_moe', " CLASS("Qwen2Moe") TINY
     ", 'num_experts': 6, 'num_experts_per_tok': 2,"
     " 'moe_intermediate_size': 24, 'shared_expert_intermediate_size': 40,"
     " 'norm_topk_prob': false, 'tie_word_embeddings': false"},
    {"tiny-qwen3", QWEN3 TINY_WIDE ", 'tie_word_embeddings': true"},
    {"tiny-qwen3_moe", QWEN3_MOE TINY_WIDE ", 'num_experts': 6, 'num_experts_per_tok': 2,"
                                           " 'moe_intermediate_size': 24, 'mlp_only_layers': [1]"},
    {"tiny-qwen3_5_text", QWEN3_5_AS("qwen3_5_text", "Qwen3_5") TINY_STATE
     ", 'intermediate_size': 152, 'tie_word_embeddings': true"},
    {"tiny-qwen3_5_moe_text",
     QWEN3_5_AS("qwen3_5_moe_text", "Qwen3_5Moe") TINY_STATE TINY_STATE_EXPERTS},
    {"tiny-qwen3_next", QWEN3_5_AS("qwen3_next", "Qwen3Next") TINY_STATE TINY_STATE_EXPERTS},
    {"tiny-qwen2_5_vl_text", "'model_type': 'qwen2_5_vl_text', " CLASS("Qwen2_5_VL") TINY
     ", 'rope_scaling': {'type': 'mrope', 'mrope_section': [2, 3, 3]},"
     " 'use_sliding_window': false, 'tie_word_embeddings': false"},
    {"tiny-qwen3_vl_text", "'model_type': 'qwen3_vl_text', " CLASS("Qwen3VL") TINY_WIDE
     ", 'rope_theta': 1000000, 'tie_word_embeddings': true,"
     " 'rope_scaling': {'rope_type': 'default', 'mrope_section': [4, 4, 4],"
     " 'mrope_interleaved': true}"},
    {"tiny-gemma", "'model_type': 'gemma', " CLASS("Gemma") TINY_WIDE
     ", 'hidden_act': 'gelu_pytorch_tanh', 'tie_word_embeddings': true"},
    {"tiny-gemma2", "'model_type': 'gemma2', " CLASS("Gemma2") TINY_WIDE
     ", 'query_pre_attn_scalar': 20, 'sliding_window': 9,"
     " 'attn_logit_softcapping': 8, 'final_logit_softcapping': 12,"
     " 'tie_word_embeddings': true"},
    {"tiny-gemma3", GEMMA3 TINY_WIDE ", 'sliding_window': 9"},
    {"tiny-gemma4", GEMMA4_AS(256) "'num_hidden_layers': 5, 'hidden_size': 96,"
                                   " 'intermediate_size': 152, 'num_attention_heads': 6,"
                                   " 'num_key_value_heads': 2, 'vocab_size': 2560, 'head_dim': 24,"
                                   " 'global_head_dim': 40, 'sliding_window': 9,"
                                   " 'sliding_window_pattern': 3, 'num_kv_shared_layers': 2,"
                                   " 'use_double_wide_mlp': true, 'attention_k_eq_v': true,"
                                   " 'hidden_size_per_layer_input': 20,"
                                   " 'vocab_size_per_layer_input': 2560"},
    {"tiny-gemma4_moe", GEMMA4_AS(256) "'num_hidden_layers': 3, 'hidden_size': 96,"
                                       " 'intermediate_size': 152, 'num_attention_heads': 6,"
                                       " 'num_key_value_heads': 2, 'vocab_size': 2560,"
                                       " 'head_dim': 24, 'global_head_dim': 40,"
                                       " 'sliding_window': 9, 'sliding_window_pattern': 2,"
                                       " 'attention_k_eq_v': true, 'num_global_key_value_heads': 1,"
                                       " 'hidden_size_per_layer_input': 0,"
                                       " 'enable_moe_block': true, 'num_experts': 6,"
                                       " 'top_k_experts': 2, 'moe_intermediate_size': 24"},
    {"tiny-phi", "'model_type': 'phi', " CLASS("Phi") TINY
     ", 'hidden_act': 'gelu_new', 'partial_rotary_factor': 0.5,"
     " 'tie_word_embeddings': false"},
    {"tiny-phi3", "'model_type': 'phi3', " CLASS("Phi3") TINY
     ", 'sliding_window': 18, 'partial_rotary_factor': 0.75,"
     " 'tie_word_embeddings': false"},
    {"tiny-granite", "'model_type': 'granite', " CLASS("Granite") TINY
     ", 'embedding_multiplier': 2, 'residual_multiplier': 0.6,"
     " 'attention_multiplier': 0.3, 'logits_scaling': 2.2,"
     " 'tie_word_embeddings': true"},
    {"tiny-granitemoe", "'model_type': 'granitemoe', " CLASS("GraniteMoe") TINY
     ", 'num_local_experts': 4, 'num_experts_per_tok': 2,"
     " 'attention_multiplier': 0.3, 'tie_word_embeddings': true"},
    {"tiny-granitemoeshared", "'model_type': 'granitemoeshared', " CLASS("GraniteMoeShared") TINY
     ", 'num_local_experts': 4, 'num_experts_per_tok': 2,"
     " 'shared_intermediate_size': 40, 'attention_multiplier': 0.3,"
     " 'tie_word_embeddings': true"},
    {"tiny-granitemoehybrid", "'model_type': 'granitemoehybrid', " CLASS("GraniteMoeHybrid") TINY
     ", 'layer_types': ['attention', 'attention', 'attention'], 'num_local_experts': 0,"
     " 'shared_intermediate_size': 152, 'position_embedding_type': 'rope',"
     " 'attention_multiplier': 0.3, 'tie_word_embeddings': true"},
    {"tiny-granitemoehybrid_mamba",
     "'model_type': 'granitemoehybrid', " CLASS("GraniteMoeHybrid") TINY
     ", 'layer_types': ['mamba', 'attention', 'mamba'], 'num_local_experts': 4,"
     " 'num_experts_per_tok': 2, 'shared_intermediate_size': 40, 'mamba_n_heads': 12,"
     " 'mamba_d_state': 16, 'attention_multiplier': 0.3, 'tie_word_embeddings': true"},
    {"tiny-nemotron_h", "'model_type': 'nemotron_h', " CLASS("NemotronH") TINY_WIDE
     ", 'hybrid_override_pattern': 'M*E', 'mamba_num_heads': 8,"
     " 'mamba_head_dim': 12, 'ssm_state_size': 16, 'n_groups': 4, 'n_routed_experts': 6,"
     " 'num_experts_per_tok': 2, 'moe_intermediate_size': 24,"
     " 'moe_shared_expert_intermediate_size': 40, 'tie_word_embeddings': false"},
    {"tiny-lfm2", "'model_type': 'lfm2', " CLASS("Lfm2") TINY
     ", 'layer_types': ['conv', 'full_attention', 'conv'], 'tie_word_embeddings': true"},
    {"tiny-lfm2_moe", "'model_type': 'lfm2_moe', " CLASS("Lfm2Moe") TINY
     ", 'layer_types': ['conv', 'full_attention', 'conv'], 'num_experts': 6,"
     " 'num_experts_per_tok': 2, 'moe_intermediate_size': 24, 'num_dense_layers': 1,"
     " 'tie_word_embeddings': true"},
    {"tiny-deepseek_v2", DEEPSEEK_V2 TINY
     ", 'q_lora_rank': 24, 'kv_lora_rank': 32, 'qk_nope_head_dim': 16, 'qk_rope_head_dim': 8, "
     "'v_head_dim': 24,"
     " 'n_routed_experts': 6, 'num_experts_per_tok': 2, 'moe_intermediate_size': 24"},
    {"tiny-seed_oss", "'model_type': 'seed_oss', " CLASS("SeedOss") TINY_WIDE
     ", 'attention_bias': true, 'tie_word_embeddings': false"},
    {"tiny-ernie4_5",
     "'model_type': 'ernie4_5', " CLASS("Ernie4_5_") TINY_WIDE ", 'tie_word_embeddings': true"},
    {"tiny-arcee", "'model_type': 'arcee', " CLASS("Arcee") TINY ", 'tie_word_embeddings': false"},
    {"tiny-apertus", "'model_type': 'apertus', " CLASS("Apertus") TINY
     ", 'rope_scaling': null, 'tie_word_embeddings': false"},
    {"tiny-olmo3", "'model_type': 'olmo3', " CLASS("Olmo3") TINY
     ", 'sliding_window': 9, 'sliding_window_pattern': 2, 'tie_word_embeddings': false"},
    {"tiny-exaone4", "'model_type': 'exaone4', " CLASS("Exaone4") TINY
     ", 'sliding_window': 9, 'sliding_window_pattern': 2, 'tie_word_embeddings': true"},
    {"tiny-hunyuan_v1_dense", "'model_type': 'hunyuan_v1_dense', " CLASS("HunYuanDenseV1") TINY_WIDE
     ", 'tie_word_embeddings': true,"
     " 'rope_scaling': {'type': 'dynamic', 'alpha': 8, 'factor': 1}"},
    {"tiny-olmo2", "'model_type': 'olmo2', " CLASS("Olmo2") TINY ", 'tie_word_embeddings': false"},
    {"tiny-olmoe", "'model_type': 'olmoe', " CLASS("Olmoe") TINY
     ", 'num_experts': 6, 'num_experts_per_tok': 2, 'clip_qkv': 0.5,"
     " 'tie_word_embeddings': false"},
    {"tiny-cohere", "'model_type': 'cohere', " CLASS("Cohere") TINY
     ", 'logit_scale': 0.25, 'use_qk_norm': true, 'tie_word_embeddings': true"},
    {"tiny-cohere2", "'model_type': 'cohere2', " CLASS("Cohere2") TINY
     ", 'logit_scale': 0.25, 'sliding_window': 9, 'sliding_window_pattern': 2,"
     " 'tie_word_embeddings': true"},
    {"tiny-glm4", "'model_type': 'glm4', " CLASS("Glm4") TINY_WIDE
     ", 'attention_bias': true, 'partial_rotary_factor': 0.5,"
     " 'tie_word_embeddings': false"},
    {"tiny-starcoder2", "'model_type': 'starcoder2', " CLASS("Starcoder2") TINY
     ", 'sliding_window': 9, 'use_bias': true, 'tie_word_embeddings': true"},
    {"tiny-minicpm", "'model_type': 'minicpm', " CLASS("MiniCPM") TINY
     ", 'scale_emb': 12, 'scale_depth': 1.4, 'dim_model_base': 48,"
     " 'tie_word_embeddings': true"},
    {"tiny-gpt_oss", "'model_type': 'gpt_oss', " CLASS("GptOss") TINY_WIDE
     ", 'num_local_experts': 4, 'num_experts_per_tok': 2, 'sliding_window': 9,"
     " 'attention_bias': true, 'tie_word_embeddings': false,"
     " 'rope_scaling': {'rope_type': 'yarn', 'factor': 8, 'beta_fast': 32,"
     " 'beta_slow': 1, 'truncate': false,"
     " 'original_max_position_embeddings': 32}"},
};
/* clang-format on */

enum { N_SHAPES = BATON_N_OF(shapes) };

const char *bench_shape_name(const char *model)
{
    return strncmp(model, prefix, sizeof prefix - 1) ? NULL : model + sizeof prefix - 1;
}

static enum baton_err refuse(const char *option, const char *name, struct baton_why *why)
{
    char names[512] = "";
    for (int i = 0; i < N_SHAPES; i++) {
        size_t n = strlen(names);
        if (strncmp(shapes[i].name, "tiny", 4) != 0)
            (void)snprintf(names + n, sizeof names - n, "%s, ", shapes[i].name);
    }
    return baton_fail(why, BATON_INVALID, "%s: no shape \"%.40s\"; there are %stiny, tiny-FAMILY",
                      option, name, names);
}

bool bench_shape_config(const char *name, char text[BENCH_CONFIG_BYTES])
{
    for (int i = 0; i < N_SHAPES; i++) {
        if (strcmp(shapes[i].name, name) != 0)
            continue;
        (void)snprintf(text, BENCH_CONFIG_BYTES, "{%s", shapes[i].config);
        for (char *c = text; (c = strchr(c, '\'')); c++)
            *c = '"';
        return true;
    }
    return false;
}

enum baton_err bench_shape_read(const char *option, const char *name,
                                struct baton_model_config *config, struct baton_why *why)
{
    char text[BENCH_CONFIG_BYTES];
    if (!bench_shape_config(name, text))
        return refuse(option, name, why);
    size_t n = strlen(text);
    text[n++] = '}';
    return baton_model_config_parse(text, n, config, why);
}

enum baton_err bench_shape_find(const char *option, const char *name,
                                const struct baton_arch **arch, struct baton_spec *spec,
                                struct baton_why *why)
{
    struct baton_model_config config;
    enum baton_err err = bench_shape_read(option, name, &config, why);
    return err ? err : baton_arch_configure(&config, 0, arch, spec, why);
}
