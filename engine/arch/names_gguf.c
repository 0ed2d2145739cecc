/* The names of tensors in GGUF files. They are the same for all families, except where two families
 * use one name for different tensors.
 *
 * Source: ggml-org/llama.cpp, gguf-py/gguf/constants.py (TENSOR_NAMES). */
#include "engine/arch/names.h"

static const struct baton_tensor_row top[] = {
    {TENSOR("token_embd.weight", TOKEN_EMBEDDING)},
    {TENSOR("position_embd.weight", POSITION_EMBEDDING)},
    {TENSOR("output_norm.weight", FINAL_NORM)},
    {TENSOR("output_norm.bias", FINAL_NORM_BIAS)},
    {TENSOR("output.weight", HEAD)},
    {TENSOR("output.bias", HEAD_BIAS)},
    {TENSOR("dense_2.weight", POOLED_1)}, /* EmbeddingGemma's */
    {TENSOR("dense_3.weight", POOLED_2)},
};

static const struct baton_tensor_row norms[] = {
    {TENSOR("attn_norm.weight", ATTN_NORM)},
    {TENSOR("attn_norm.bias", ATTN_NORM_BIAS)},
    {TENSOR("post_attention_norm.weight", ATTN_POST_NORM)},
    {TENSOR("ffn_norm.weight", MLP_NORM)},
    {TENSOR("ffn_norm.bias", MLP_NORM_BIAS)},
    {TENSOR("post_ffw_norm.weight", MLP_POST_NORM)},
    {TENSOR("attn_q_norm.weight", Q_NORM)},
    {TENSOR("attn_k_norm.weight", K_NORM)},
    {TENSOR("attn_sinks.weight", SINKS)},
    {TENSOR("attn_output.weight", OUT)},
    {TENSOR("attn_output.bias", OUT_BIAS)},
};

static const struct baton_tensor_row whole_qkv[] = {
    {TENSOR("attn_qkv.weight", QKV)},
    {TENSOR("attn_qkv.bias", QKV_BIAS)},
};

static const struct baton_tensor_row qkv[] = {
    {TENSOR("attn_q.weight", QKV), SLICE(Q)},    {TENSOR("attn_k.weight", QKV), SLICE(K)},
    {TENSOR("attn_v.weight", QKV), SLICE(V)},    {TENSOR("attn_q.bias", QKV_BIAS), SLICE(Q)},
    {TENSOR("attn_k.bias", QKV_BIAS), SLICE(K)}, {TENSOR("attn_v.bias", QKV_BIAS), SLICE(V)},
};

/* convert_hf_to_gguf.py permutes the rows of q and k of Llama and its relatives to pairs. */
static const struct baton_tensor_row paired_qkv[] = {
    {TENSOR("attn_q.weight", QKV), SLICE(Q), .paired = true},
    {TENSOR("attn_k.weight", QKV), SLICE(K), .paired = true},
    {TENSOR("attn_v.weight", QKV), SLICE(V)},
    {TENSOR("attn_q.bias", QKV_BIAS), SLICE(Q), .paired = true},
    {TENSOR("attn_k.bias", QKV_BIAS), SLICE(K), .paired = true},
    {TENSOR("attn_v.bias", QKV_BIAS), SLICE(V)},
    {TENSOR("attn_qkv.weight", QKV), .paired = true},
    {TENSOR("attn_qkv.bias", QKV_BIAS), .paired = true},
};

/* A plain MLP, or gate and up fused in ffn_up. */
static const struct baton_tensor_row whole_mlp[] = {
    {TENSOR("ffn_up.weight", UP)},
    {TENSOR("ffn_up.bias", UP_BIAS)},
    {TENSOR("ffn_down.weight", DOWN)},
    {TENSOR("ffn_down.bias", DOWN_BIAS)},
};

static const struct baton_tensor_row gated_mlp[] = {
    {TENSOR("ffn_gate.weight", UP), SLICE(GATE)},
    {TENSOR("ffn_up.weight", UP), SLICE(UP)},
    {TENSOR("ffn_gate.bias", UP_BIAS), SLICE(GATE)},
    {TENSOR("ffn_up.bias", UP_BIAS), SLICE(UP)},
    {TENSOR("ffn_down.weight", DOWN)},
    {TENSOR("ffn_down.bias", DOWN_BIAS)},
};

static const struct baton_tensor_row experts[] = {
    {TENSOR("ffn_gate_inp.weight", ROUTER), SLICE(EXPERTS)},
    {TENSOR("ffn_gate_inp.bias", ROUTER_BIAS)},
    {TENSOR("ffn_gate_inp_shexp.weight", ROUTER), SLICE(SHARED_GATE)},
    {EXPERTS("ffn_gate_exps.weight", UP), SLICE(GATE)},
    {EXPERTS("ffn_up_exps.weight", UP), SLICE(UP)},
    {EXPERTS("ffn_gate_exps.bias", UP_BIAS), SLICE(GATE)},
    {EXPERTS("ffn_up_exps.bias", UP_BIAS), SLICE(UP)},
    {EXPERTS("ffn_down_exps.weight", DOWN)},
    {EXPERTS("ffn_down_exps.bias", DOWN_BIAS)},
    {EXPERTS("ffn_gate.*.weight", UP), SLICE(GATE)}, /* files of before April 2024 */
    {EXPERTS("ffn_up.*.weight", UP), SLICE(UP)},
    {EXPERTS("ffn_down.*.weight", DOWN)},
    {TENSOR("ffn_gate_shexp.weight", SHARED_UP), SLICE(GATE)},
    {TENSOR("ffn_up_shexp.weight", SHARED_UP), SLICE(UP)},
    {TENSOR("ffn_down_shexp.weight", SHARED_DOWN)},
};

/* gpt-oss and Seed-OSS are of form PRE: post_attention_norm is the norm before the MLP. */
static const struct baton_tensor_row oss_norms[] = {
    {TENSOR("attn_norm.weight", ATTN_NORM)}, {TENSOR("post_attention_norm.weight", MLP_NORM)},
    {TENSOR("attn_sinks.weight", SINKS)},    {TENSOR("attn_output.weight", OUT)},
    {TENSOR("attn_output.bias", OUT_BIAS)},
};

static const struct baton_tensor_row gemma4_rows[] = {
    {TENSOR("per_layer_token_embd.weight", PER_LAYER_TABLE)},
    {TENSOR("per_layer_model_proj.weight", PER_LAYER_IN)},
    {TENSOR("per_layer_proj_norm.weight", PER_LAYER_IN_NORM)},
    {TENSOR("inp_gate.weight", PER_LAYER_GATE)},
    {TENSOR("proj.weight", PER_LAYER_OUT)},
    {TENSOR("post_norm.weight", PER_LAYER_NORM)},
    {TENSOR("layer_output_scale.weight", LAYER_SCALE)},
};

/* In a layer with experts the MLP beside them is the shared expert. */
static const struct baton_tensor_row gemma4_experts[] = {
    {TENSOR("ffn_gate.weight", SHARED_UP), SLICE(GATE)},
    {TENSOR("ffn_up.weight", SHARED_UP), SLICE(UP)},
    {TENSOR("ffn_down.weight", SHARED_DOWN)},
    {TENSOR("post_ffw_norm_1.weight", SHARED_POST_NORM)},
    {TENSOR("ffn_gate_inp.weight", ROUTER)},
    {TENSOR("ffn_gate_inp.scale", ROUTER_NORM)},
    {TENSOR("ffn_down_exps.scale", EXPERT_SCALES)},
    {TENSOR("pre_ffw_norm_2.weight", EXPERTS_NORM)},
    {EXPERTS("ffn_gate_up_exps.weight", UP)},
    {EXPERTS("ffn_gate_exps.weight", UP), SLICE(GATE)},
    {EXPERTS("ffn_up_exps.weight", UP), SLICE(UP)},
    {EXPERTS("ffn_down_exps.weight", DOWN)},
    {TENSOR("post_ffw_norm_2.weight", EXPERTS_POST_NORM)},
};

/* These tensors are read as a part of the configuration (gguf/config.h). */
static const char *const elsewhere[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                        "rope_factors_short.weight", NULL};

#define NAMES .prefix = "", .layer_prefix = "blk.", .elsewhere = elsewhere

/* The order of lists decides errors: the first name that fits is reported as missing. */
const struct baton_tensor_names baton_names_gguf = {
    NAMES,
    .lists = {LIST(top), LIST(norms), LIST(qkv), LIST(whole_qkv), LIST(gated_mlp), LIST(experts)}};

const struct baton_tensor_names baton_names_gguf_paired = {
    NAMES, .lists = {LIST(top), LIST(norms), LIST(paired_qkv), LIST(gated_mlp), LIST(experts)}};

const struct baton_tensor_names baton_names_gguf_whole = {
    NAMES, .lists = {LIST(top), LIST(norms), LIST(whole_qkv), LIST(qkv), LIST(whole_mlp)}};

const struct baton_tensor_names baton_names_gguf_gemma4 = {
    NAMES, .lists = {LIST(top), LIST(norms), LIST(qkv), LIST(gated_mlp), LIST(gemma4_rows),
                     LIST(gemma4_experts)}};

const struct baton_tensor_names baton_names_gguf_gpt_oss = {
    NAMES, .lists = {LIST(top), LIST(oss_norms), LIST(qkv), LIST(whole_qkv), LIST(experts)}};

const struct baton_tensor_names baton_names_gguf_seed_oss = {
    NAMES, .lists = {LIST(top), LIST(oss_norms), LIST(qkv), LIST(whole_qkv), LIST(gated_mlp)}};

static const struct baton_tensor_row hybrid_norms[] = {
    {TENSOR("attn_norm.weight", ATTN_NORM)},
    {TENSOR("post_attention_norm.weight", MLP_NORM)},
    {TENSOR("attn_q_norm.weight", Q_NORM)},
    {TENSOR("attn_k_norm.weight", K_NORM)},
    {TENSOR("attn_output.weight", OUT)},
    {TENSOR("ffn_gate_up_exps.weight", UP), .of_experts = true},
};

static const struct baton_tensor_row delta_rows[] = {
    {OF_STATE("attn_qkv.weight", QKV), SLICE(CHANNELS)},
    {OF_STATE("attn_gate.weight", QKV), SLICE(Z)},
    {OF_STATE("ssm_beta.weight", QKV), SLICE(B)},
    {OF_STATE("ssm_alpha.weight", QKV), SLICE(A)},
    {OF_STATE("ssm_ba.weight", QKV), SLICE(BA)},
    {OF_STATE("ssm_out.weight", OUT)},
    {TENSOR("ssm_conv1d.weight", TAPS), .transposed = true},
    {TENSOR("ssm_a", STATE_RATE)},
    {TENSOR("ssm_dt.bias", STATE_BIAS)},
    {TENSOR("ssm_norm.weight", STATE_NORM)},
};

const struct baton_tensor_names baton_names_gguf_qwen_hybrid = {
    NAMES, .has_late_layers = true,
    .lists = {LIST(top), LIST(hybrid_norms), LIST(qkv), LIST(gated_mlp), LIST(experts),
              LIST(delta_rows)}};

/* The last block of a file, whose number is *. */
static const struct baton_tensor_row draft_rows[] = {
    DRAFT_ROWS("blk.*.nextn.eh_proj", "blk.*.nextn.enorm", "blk.*.nextn.hnorm",
               "blk.*.nextn.shared_head_norm")};

const struct baton_tensor_names baton_names_gguf_qwen_draft = {
    NAMES, .is_part = true,
    .lists = {LIST(draft_rows), LIST(hybrid_norms), LIST(qkv), LIST(gated_mlp), LIST(experts)}};

static const struct baton_tensor_row deepseek_rows[] = {
    {TENSOR("attn_norm.weight", ATTN_NORM)},
    {TENSOR("ffn_norm.weight", MLP_NORM)},
    {TENSOR("attn_q.weight", QKV), SLICE(HEADS_Q)},
    {TENSOR("attn_q_a.weight", QKV), SLICE(Q_RANK)},
    {TENSOR("attn_q_a_norm.weight", Q_RANK_NORM)},
    {TENSOR("attn_q_b.weight", Q_UP), SLICE(HEADS_Q)},
    {TENSOR("attn_kv_a_mqa.weight", QKV), SLICE(LATENT)},
    {TENSOR("attn_kv_a_norm.weight", LATENT_NORM)},
    {EXPERTS("attn_k_b.weight", KEY_UP)},
    {EXPERTS("attn_v_b.weight", VALUE_UP)},
    /* of files of before April 2025 */
    {EXPERTS("attn_kv_b.weight", KEY_UP), SLICE(KEYS_UP), .transposed = true, .is_flat = true},
    {EXPERTS("attn_kv_b.weight", VALUE_UP), SLICE(VALUES_UP), .is_flat = true},
    {TENSOR("attn_output.weight", OUT)},
    {TENSOR("exp_probs_b.bias", SCORE_BIAS)},
    {EXPERTS("ffn_gate_up_exps.weight", UP)},
};

const struct baton_tensor_names baton_names_gguf_deepseek = {
    NAMES, .has_late_layers = true,
    .lists = {LIST(top), LIST(deepseek_rows), LIST(gated_mlp), LIST(experts)}};

static const struct baton_tensor_row short_rows[] = {
    {TENSOR("token_embd_norm.weight", FINAL_NORM)}, /* whatever its name says */
    {OF_STATE("shortconv.in_proj.weight", QKV)},
    {OF_STATE("shortconv.out_proj.weight", OUT)},
    {TENSOR("shortconv.conv.weight", TAPS), .transposed = true},
    {TENSOR("exp_probs_b.bias", SCORE_BIAS)},
};

const struct baton_tensor_names baton_names_gguf_lfm2 = {
    NAMES,
    .lists = {LIST(top), LIST(norms), LIST(qkv), LIST(gated_mlp), LIST(experts), LIST(short_rows)}};

static const struct baton_tensor_row mamba_rows[] = {
    {OF_STATE("ssm_in.weight", QKV)},
    {OF_STATE("ssm_out.weight", OUT)},
    {TENSOR("ssm_conv1d.weight", TAPS), .transposed = true},
    {TENSOR("ssm_conv1d.bias", TAPS_BIAS)},
    {TENSOR("ssm_a", STATE_RATE), .in_heads = true},
    {TENSOR("ssm_dt.bias", STATE_BIAS)},
    {TENSOR("ssm_d", STATE_SKIP), .in_heads = true},
    {TENSOR("ssm_norm.weight", STATE_NORM), .in_heads = true},
};

const struct baton_tensor_names baton_names_gguf_granite_hybrid = {
    NAMES, .lists = {LIST(top), LIST(norms), LIST(paired_qkv), LIST(gated_mlp), LIST(experts),
                     LIST(mamba_rows)}};

/* A layer has one part, and one norm before it. */
static const struct baton_tensor_row nemotron_rows[] = {
    {TENSOR("attn_norm.weight", MLP_NORM)},
    {TENSOR("exp_probs_b.bias", SCORE_BIAS)},
};

const struct baton_tensor_names baton_names_gguf_nemotron = {
    NAMES, .lists = {LIST(top), LIST(nemotron_rows), LIST(norms), LIST(qkv), LIST(whole_mlp),
                     LIST(experts), LIST(mamba_rows)}};

/* The file's lists of numbers, which its reader makes tensors of layers (gguf/tensors.c). */
static const struct baton_tensor_row xielu[] = {
    {TENSOR("xielu.alpha_p", XIELU_P)},
    {TENSOR("xielu.alpha_n", XIELU_N)},
    {TENSOR("xielu.beta", XIELU_B)},
    {TENSOR("xielu.eps", XIELU_EPS)},
};

const struct baton_tensor_names baton_names_gguf_apertus = {
    NAMES,
    .lists = {LIST(top), LIST(norms), LIST(qkv), LIST(whole_qkv), LIST(whole_mlp), LIST(xielu)}};

const struct baton_tensor_names baton_names_gguf_arcee = {
    NAMES, .lists = {LIST(top), LIST(norms), LIST(paired_qkv), LIST(whole_mlp)}};

/* ---- encoders ---- */

static const struct baton_tensor_row encoder_rows[] = {
    {TENSOR("token_embd.weight", TOKEN_EMBEDDING)},
    {TENSOR("position_embd.weight", POSITION_EMBEDDING)},
    {TENSOR("token_types.weight", TOKEN_TYPES)},
    {TENSOR("token_embd_norm.weight", EMBED_NORM)},
    {TENSOR("token_embd_norm.bias", EMBED_NORM_BIAS)},
    {TENSOR("attn_output.weight", OUT)},
    {TENSOR("attn_output.bias", OUT_BIAS)},
    {TENSOR("attn_output_norm.weight", ATTN_POST_NORM)},
    {TENSOR("attn_output_norm.bias", ATTN_POST_NORM_BIAS)},
    {TENSOR("layer_output_norm.weight", MLP_POST_NORM)},
    {TENSOR("layer_output_norm.bias", MLP_POST_NORM_BIAS)},
    {TENSOR("cls.weight", POOLED_1)},
    {TENSOR("cls.bias", POOLED_1_BIAS)},
    {TENSOR("cls.output.weight", POOLED_2)},
    {TENSOR("cls.output.bias", POOLED_2_BIAS)},
};

const struct baton_tensor_names baton_names_gguf_encoder = {
    NAMES,
    .lists = {LIST(encoder_rows), LIST(qkv), LIST(whole_qkv), LIST(gated_mlp), LIST(experts)}};
