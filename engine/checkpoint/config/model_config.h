/* How a model is built, as its files state it: sizes, variants, the ids that begin and end a
 * text. */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_MODEL_CONFIG_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_MODEL_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "engine/checkpoint/config/pooling.h"

/* The largest sizes that are accepted. Products of two of them stay far below 2^63. */
enum {
    BATON_MAX_LAYERS = 1024,
    BATON_MAX_WIDTH = 1 << 17,
    BATON_MAX_VOCAB = 1 << 24,
    BATON_MAX_CONTEXT = 1 << 24,
    BATON_MAX_EXPERTS = 1024,
    BATON_MAX_ROTARY_PAIRS = 256,
    BATON_MODEL_MAX_EOS = 16
};

/* The tokens of prompts that ask for the text between a prefix and a suffix (tokenizer/fim.h). */
enum baton_fim_token {
    BATON_FIM_PREFIX,
    BATON_FIM_SUFFIX,
    BATON_FIM_MIDDLE,
    BATON_FIM_PAD,
    BATON_FIM_REPO, /* before a repository's name */
    BATON_FIM_FILE, /* before a file's name */
    BATON_N_FIM_TOKENS
};

/* Features that only some models have. A config requests a feature by giving its key another value
 * than the neutral one, and an architecture refuses the features that it does not compute. */
enum baton_model_feature {
    BATON_FEATURE_SCALE_ATTN_WEIGHTS,
    BATON_FEATURE_SCALE_ATTN_BY_LAYER,
    BATON_FEATURE_UPCAST_ATTN,
    BATON_FEATURE_CROSS_ATTENTION,
    BATON_FEATURE_ALIBI,
    BATON_FEATURE_QK_NORM,
    BATON_FEATURE_QK_LAYERNORM,
    BATON_FEATURE_BIDIRECTIONAL,
    BATON_FEATURE_ROPE_INTERLEAVED,
    BATON_FEATURE_SPARSE_ATTENTION,
    BATON_FEATURE_QUANTIZATION,
    BATON_FEATURE_MLP_TYPE,
    BATON_FEATURE_NORM_TYPE,
    BATON_FEATURE_ATTENTION_BIAS,
    BATON_FEATURE_OUT_BIAS,
    BATON_FEATURE_MLP_BIAS,
    BATON_FEATURE_USE_BIAS,
    BATON_FEATURE_QKV_BIAS,
    BATON_FEATURE_HEAD_BIAS,
    BATON_FEATURE_PARALLEL_RESIDUAL,
    BATON_FEATURE_SLIDING_WINDOW,
    BATON_FEATURE_USE_SLIDING_WINDOW,
    BATON_FEATURE_WINDOW_PATTERN,
    BATON_FEATURE_LAYER_TYPES,
    BATON_FEATURE_SCORE_CAP,
    BATON_FEATURE_LOGIT_CAP,
    BATON_FEATURE_QUERY_SCALAR,
    BATON_FEATURE_EMBEDDING_MULTIPLIER,
    BATON_FEATURE_RESIDUAL_MULTIPLIER,
    BATON_FEATURE_ATTENTION_MULTIPLIER,
    BATON_FEATURE_LOGITS_SCALING,
    BATON_FEATURE_LOGIT_SCALE,
    BATON_FEATURE_SCALE_EMB,
    BATON_FEATURE_SCALE_DEPTH,
    BATON_FEATURE_DIM_MODEL_BASE,
    BATON_FEATURE_CLIP_QKV,
    BATON_FEATURE_ROPE_SCALING,
    BATON_FEATURE_MROPE,
    BATON_FEATURE_ROPE_ALPHA,
    BATON_FEATURE_LOCAL_ROPE,
    BATON_FEATURE_PARTIAL_ROTARY,
    BATON_FEATURE_ROTARY_DIM,
    BATON_FEATURE_NO_ROPE_LAYERS,
    BATON_FEATURE_QUERY_SCALING,
    BATON_FEATURE_EXPERTS,
    BATON_FEATURE_SHARED_EXPERT,
    BATON_FEATURE_SHARED_MLP,
    BATON_FEATURE_SHARED_EXPERTS,
    BATON_FEATURE_DENSE_LAYERS,
    BATON_FEATURE_SPARSE_STEP,
    BATON_FEATURE_SWIGLU_LIMIT,
    BATON_FEATURE_SWIGLU_ALPHA,
    BATON_FEATURE_GLOBAL_HEAD_DIM,
    BATON_FEATURE_K_EQ_V,
    BATON_FEATURE_KV_SHARED,
    BATON_FEATURE_DOUBLE_WIDE_MLP,
    BATON_FEATURE_PER_LAYER_INPUT,
    BATON_FEATURE_PER_LAYER_CONFIG,
    BATON_FEATURE_MOE_BLOCK,
    BATON_FEATURE_LINEAR_LAYERS,
    BATON_FEATURE_LATENTS,
    BATON_N_MODEL_FEATURES
};

#define BATON_FEATURE(name) (UINT64_C(1) << BATON_FEATURE_##name)

/* An entry of layer_types. */
enum baton_layer_type {
    BATON_LAYER_FULL,
    BATON_LAYER_SLIDING,
    BATON_LAYER_LINEAR,
    BATON_LAYER_CONV,
    BATON_LAYER_MAMBA,
    BATON_LAYER_MLP, /* a layer without a mixer; this and the next */
    BATON_LAYER_MOE
};

/* The parameters of a rotary embedding; 0: not given. */
struct baton_rope_config {
    char type[32]; /* "default", "linear", "dynamic", "llama3", "yarn", "longrope", "su",
                      "proportional" */
    double theta;
    double partial_rotary_factor; /* the share of a head that is rotated */
    double factor;
    int original_context; /* positions of the model's original training */
    double low_freq_factor, high_freq_factor;
    double beta_fast, beta_slow;
    double attention_factor, mscale, mscale_all_dim, alpha;
    double query_scaling_beta;
    bool truncate;          /* yarn's range begins and ends at whole pairs; default true */
    int n_mrope;            /* the sum of mrope_section: pairs that turn; 0: not given */
    bool mrope_interleaved; /* which pairs are a section's, which is the same for a text */
    int n_short, n_long;
    double short_factor[BATON_MAX_ROTARY_PAIRS], long_factor[BATON_MAX_ROTARY_PAIRS];
};

/* The sampling defaults of a model's authors, from generation_config.json. /v1/models reports them;
 * the gateway applies them only with --sampling-defaults model. */
struct baton_sampling_defaults {
    int do_sample; /* 0, 1; this and the others: -1 when not given */
    int top_k;
    double temperature, top_p, repetition_penalty;
};

/* The sizes that per_layer_config gives a layer; 0: not given. */
struct baton_layer_sizes {
    int head_dim, n_kv_heads, n_ff;
};

struct baton_model_config {
    char wrapper[64];    /* the model_type beside text_config; "": there is no text_config */
    char model_type[64]; /* "gpt2"; "": not given */
    uint64_t features;   /* of BATON_FEATURE, all that it requests */

    /* Sizes; 0 when not given. */
    int n_layers;         /* L */
    int n_embd;           /* C */
    int n_heads;          /* H */
    int n_kv_heads;       /* G */
    int head_dim;         /* D */
    int n_ff;             /* F */
    int n_vocab;          /* V */
    int n_context;        /* positions the model knows */
    int original_context; /* original_max_position_embeddings beside rope_scaling */

    double rms_norm_eps, layer_norm_eps, layer_norm_epsilon, norm_epsilon; /* 0: not given */
    char activation_function[64], hidden_act[64], hidden_activation[64];   /* "": not given */
    char quantization[64];            /* quant_method; "": the weights are not quantised */
    char mlp_type[64], norm_type[64]; /* "default", "layer_norm" */

    bool tied_head; /* the output matrix is the token embedding unless tensors say otherwise */
    bool attention_bias, attention_out_bias, mlp_bias, use_bias, qkv_bias, head_bias;
    bool use_parallel_residual;
    bool scales_scores, scales_by_layer, upcasts_scores, cross_attends;
    bool alibi, use_qk_norm, qk_layernorm, bidirectional, rope_interleaved;

    int sliding_window; /* positions; 0: none */
    bool use_sliding_window;
    int max_window_layers, sliding_window_pattern; /* 0: not given */
    int n_layer_types;                             /* 0: not given, else L */
    unsigned char layer_types[BATON_MAX_LAYERS];   /* enum baton_layer_type */

    double score_cap, logit_cap, query_scalar, clip_qkv; /* 0: none */
    double embedding_multiplier, residual_multiplier, logits_scaling, logit_scale, scale_emb;
    double attention_multiplier, scale_depth, dim_model_base; /* 0: not given */

    struct baton_rope_config rope;       /* for all layers, or for those without a window */
    struct baton_rope_config local_rope; /* for layers with a window; theta 0: as the others */
    char position_embedding_type[64];    /* "rope", "nope", "absolute"; "": not given */
    int rotary_dim;                      /* 0: not given */
    int no_rope_interval;                /* every such layer is without rotation; 0: none */
    int n_no_rope;                       /* 0: not given, else L */
    bool no_rope[BATON_MAX_LAYERS];

    /* Layers without a window may have heads of another size and number, the last layers no K and V
     * of their own, and each an input of its own of each token; 0: not given. */
    int global_head_dim, n_global_kv_heads, n_kv_shared, n_per_layer, n_vocab_per_layer;
    bool k_eq_v, double_wide_mlp, moe_block;
    struct baton_layer_sizes layer_sizes[BATON_MAX_LAYERS];

    /* Layers with a state; 0: not given. Without layer_types every full_interval-th one has
     * attention. */
    int n_taps, n_state_key_heads, n_state_heads, n_state_keys, n_state_values, full_interval;
    bool out_gate;
    bool state_is_tiled; /* GGUF files order value heads so (spec.h) */
    int state_expand;    /* 0: not given */
    bool taps_bias, state_proj_bias;
    char state_act[64];                     /* "": not given */
    double least_time_step, most_time_step; /* 0 and infinity: no limits */

    /* LFM2: F is block_n_ff where it is given, and a multiple of ff_multiple where adjusts_n_ff. */
    int block_n_ff, ff_multiple;
    double ff_multiplier;
    bool adjusts_n_ff;

    /* Layers whose keys and values are made of a latent row; 0: not given. */
    int q_rank, kv_rank, n_plain, n_turned, n_head_values, n_indexed;
    bool rope_interleave;

    int n_expert_groups, n_kept_groups; /* 0: not given */
    int n_first_dense, moe_frequency;
    char scoring[64], choice[64]; /* scoring_func, topk_method */
    double expert_scale;          /* routed_scaling_factor */

    int n_experts, n_experts_chosen; /* E; 0: no mixture of experts */
    int moe_n_ff, shared_n_ff, shared_mlp_n_ff, n_shared_experts;
    int decoder_sparse_step, n_dense_layers, moe_shared_n_ff, moe_latent;
    bool norm_topk_prob, expert_bias;
    bool is_dense[BATON_MAX_LAYERS]; /* mlp_only_layers */
    double swiglu_limit, swiglu_alpha;

    /* Encoders. */
    bool is_encoder;     /* every position sees the whole text */
    bool scores_pairs;   /* its result is the score of a pair of texts, not an embedding */
    int position_offset; /* rows before position 0 in the table of positions; not in n_context */
    int pad_id, n_token_types, moe_interval;
    int trained_context; /* 0: not given */
    bool is_decoder, is_causal, is_prenorm, uses_rms_norm, is_parallel, mlp_out_bias;
    bool expert_choice;
    double rotary_scaling_factor, rotary_scale_base; /* 0: none */

    int64_t bos_id;                       /* -1: none */
    int64_t eos_ids[BATON_MODEL_MAX_EOS]; /* each ends a generation; all below V */
    int n_eos;
    int64_t fim_ids[BATON_N_FIM_TOKENS]; /* that keys name; -1: none */
    struct baton_sampling_defaults sampling;
    struct baton_pooling_config pooled; /* NONE: not given */

    bool gguf_names; /* tensors are named, and Q and K ordered, as in GGUF files */
};

/* The neutral values, which an empty config.json has. */
extern const struct baton_model_config baton_model_config_unsaid;

/* Parses the text of a config.json. */
enum baton_err baton_model_config_parse(const void *text, size_t n,
                                        struct baton_model_config *config,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Adds the eos ids and the sampling defaults of a generation_config.json's text. */
enum baton_err baton_model_config_parse_generation(const void *text, size_t n,
                                                   struct baton_model_config *config,
                                                   struct baton_why *why) BATON_MUST_CHECK;

/* Reads the model at model_path: its config.json and, if present, its generation_config.json and
 * the files that state the pooling of embeddings. source receives the path of the file with the
 * sizes, for messages about them. */
enum baton_err baton_model_config_read(const char *model_path, struct baton_model_config *config,
                                       char source[PATH_MAX],
                                       struct baton_why *why) BATON_MUST_CHECK;

/* INVALID, with the key and its range, when *size, a size field of config, is not given. */
enum baton_err baton_model_config_require(const struct baton_model_config *config, const int *size,
                                          struct baton_why *why) BATON_MUST_CHECK;

/* A feature as messages show it: "use_qk_norm: true". */
enum { BATON_FEATURE_TEXT_BYTES = 160 };
const char *baton_model_config_feature(const struct baton_model_config *config,
                                       enum baton_model_feature feature,
                                       char text[BATON_FEATURE_TEXT_BYTES]);

#endif
