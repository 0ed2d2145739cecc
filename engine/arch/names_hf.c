/* The names of tensors in checkpoints of Hugging Face's layout, by family. */
#include "engine/arch/names.h"

#define IN_MODEL_LAYERS .prefix = "model.", .layer_prefix = "layers."

/* ---- Llama, and families with its names ---- */

static const struct baton_tensor_row llama_top[] = {
    {TENSOR("embed_tokens.weight", TOKEN_EMBEDDING)},
    {TENSOR("norm.weight", FINAL_NORM)},
    {TENSOR("norm.bias", FINAL_NORM_BIAS)},
    {TENSOR("lm_head.weight", HEAD)},
    {TENSOR("lm_head.bias", HEAD_BIAS)},
};

static const struct baton_tensor_row llama_attention[] = {
    {TENSOR("self_attn.q_proj.weight", QKV), SLICE(Q)},
    {TENSOR("self_attn.k_proj.weight", QKV), SLICE(K)},
    {TENSOR("self_attn.v_proj.weight", QKV), SLICE(V)},
    {TENSOR("self_attn.q_proj.bias", QKV_BIAS), SLICE(Q)},
    {TENSOR("self_attn.k_proj.bias", QKV_BIAS), SLICE(K)},
    {TENSOR("self_attn.v_proj.bias", QKV_BIAS), SLICE(V)},
    {TENSOR("self_attn.o_proj.weight", OUT)},
    {TENSOR("self_attn.o_proj.bias", OUT_BIAS)},
    {TENSOR("self_attn.q_norm.weight", Q_NORM)},
    {TENSOR("self_attn.k_norm.weight", K_NORM)},
    {TENSOR("self_attn.sinks", SINKS)},
};

static const struct baton_tensor_row llama_mlp[] = {
    {TENSOR("mlp.gate_proj.weight", UP), SLICE(GATE)},
    {TENSOR("mlp.up_proj.weight", UP), SLICE(UP)},
    {TENSOR("mlp.gate_proj.bias", UP_BIAS), SLICE(GATE)},
    {TENSOR("mlp.up_proj.bias", UP_BIAS), SLICE(UP)},
    {TENSOR("mlp.down_proj.weight", DOWN)},
    {TENSOR("mlp.down_proj.bias", DOWN_BIAS)},
};

static const struct baton_tensor_row plain_mlp[] = {
    {TENSOR("mlp.up_proj.weight", UP)},
    {TENSOR("mlp.up_proj.bias", UP_BIAS)},
    {TENSOR("mlp.down_proj.weight", DOWN)},
    {TENSOR("mlp.down_proj.bias", DOWN_BIAS)},
};

/* One matrix for q, k and v, and one for gate and up. */
static const struct baton_tensor_row fused_qkv[] = {
    {TENSOR("self_attn.qkv_proj.weight", QKV)},
    {TENSOR("self_attn.o_proj.weight", OUT)},
};

static const struct baton_tensor_row fused_mlp[] = {
    {TENSOR("mlp.gate_up_proj.weight", UP)},
    {TENSOR("mlp.down_proj.weight", DOWN)},
};

static const struct baton_tensor_row pre_norms[] = {
    {TENSOR("input_layernorm.weight", ATTN_NORM)},
    {TENSOR("input_layernorm.bias", ATTN_NORM_BIAS)},
    {TENSOR("post_attention_layernorm.weight", MLP_NORM)},
    {TENSOR("post_attention_layernorm.bias", MLP_NORM_BIAS)},
};

static const struct baton_tensor_row gemma_sandwich_norms[] = {
    {TENSOR("input_layernorm.weight", ATTN_NORM)},
    {TENSOR("post_attention_layernorm.weight", ATTN_POST_NORM)},
    {TENSOR("pre_feedforward_layernorm.weight", MLP_NORM)},
    {TENSOR("post_feedforward_layernorm.weight", MLP_POST_NORM)},
};

static const struct baton_tensor_row glm4_norms[] = {
    {TENSOR("input_layernorm.weight", ATTN_NORM)},
    {TENSOR("post_self_attn_layernorm.weight", ATTN_POST_NORM)},
    {TENSOR("post_attention_layernorm.weight", MLP_NORM)},
    {TENSOR("post_mlp_layernorm.weight", MLP_POST_NORM)},
};

static const struct baton_tensor_row post_norms[] = {
    {TENSOR("post_attention_layernorm.weight", ATTN_POST_NORM)},
    {TENSOR("post_feedforward_layernorm.weight", MLP_POST_NORM)},
};

const struct baton_tensor_names baton_names_llama = {
    IN_MODEL_LAYERS,
    .lists = {LIST(llama_top), LIST(pre_norms), LIST(llama_attention), LIST(llama_mlp)}};

static const struct baton_tensor_row apertus_rows[] = {
    {TENSOR("attention_layernorm.weight", ATTN_NORM)},
    {TENSOR("feedforward_layernorm.weight", MLP_NORM)},
    {TENSOR("mlp.act_fn.alpha_p", XIELU_P)},
    {TENSOR("mlp.act_fn.alpha_n", XIELU_N)},
    {TENSOR("mlp.act_fn.beta", XIELU_B)},
    {TENSOR("mlp.act_fn.eps", XIELU_EPS)},
};

const struct baton_tensor_names baton_names_apertus = {
    IN_MODEL_LAYERS,
    .lists = {LIST(llama_top), LIST(apertus_rows), LIST(llama_attention), LIST(plain_mlp)}};

static const struct baton_tensor_row hunyuan_norms[] = {
    {TENSOR("self_attn.query_layernorm.weight", Q_NORM)},
    {TENSOR("self_attn.key_layernorm.weight", K_NORM)},
};

const struct baton_tensor_names baton_names_hunyuan = {
    IN_MODEL_LAYERS, .lists = {LIST(llama_top), LIST(pre_norms), LIST(hunyuan_norms),
                               LIST(llama_attention), LIST(llama_mlp)}};

const struct baton_tensor_names baton_names_arcee = {
    IN_MODEL_LAYERS,
    .lists = {LIST(llama_top), LIST(pre_norms), LIST(llama_attention), LIST(plain_mlp)}};

const struct baton_tensor_names baton_names_phi3 = {
    IN_MODEL_LAYERS, .lists = {LIST(llama_top), LIST(pre_norms), LIST(fused_qkv), LIST(fused_mlp)}};

const struct baton_tensor_names baton_names_gemma = {
    IN_MODEL_LAYERS, .norms_less_one = true,
    .lists = {LIST(llama_top), LIST(pre_norms), LIST(llama_attention), LIST(llama_mlp)}};

const struct baton_tensor_names baton_names_gemma2 = {
    IN_MODEL_LAYERS, .norms_less_one = true,
    .lists = {LIST(llama_top), LIST(gemma_sandwich_norms), LIST(llama_attention), LIST(llama_mlp),
              LIST(baton_dense_modules)}};

const struct baton_tensor_names baton_names_glm4 = {
    IN_MODEL_LAYERS,
    .lists = {LIST(llama_top), LIST(glm4_norms), LIST(llama_attention), LIST(fused_mlp)}};

const struct baton_tensor_names baton_names_olmo2 = {
    IN_MODEL_LAYERS,
    .lists = {LIST(llama_top), LIST(post_norms), LIST(llama_attention), LIST(llama_mlp)}};

static const struct baton_tensor_row starcoder2_mlp[] = {
    {TENSOR("mlp.c_fc.weight", UP)},
    {TENSOR("mlp.c_fc.bias", UP_BIAS)},
    {TENSOR("mlp.c_proj.weight", DOWN)},
    {TENSOR("mlp.c_proj.bias", DOWN_BIAS)},
};

const struct baton_tensor_names baton_names_starcoder2 = {
    IN_MODEL_LAYERS,
    .lists = {LIST(llama_top), LIST(pre_norms), LIST(llama_attention), LIST(starcoder2_mlp)}};

/* ---- Mixtures of experts ---- */

/* Newer files fuse all experts into [E][2 F][C] and [E][C][F]. */
static const struct baton_tensor_row fused_experts[] = {
    {EXPERTS("mlp.experts.gate_up_proj", UP)},
    {EXPERTS("mlp.experts.down_proj", DOWN)},
};

/* The order of w1, w3, w2 is Mistral's own: silu(w1 x) * (w3 x), then w2. */
static const struct baton_tensor_row mixtral_experts[] = {
    {TENSOR("block_sparse_moe.gate.weight", ROUTER)},
    {TENSOR("mlp.gate.weight", ROUTER)},
    {EXPERTS("block_sparse_moe.experts.*.w1.weight", UP), SLICE(GATE)},
    {EXPERTS("block_sparse_moe.experts.*.w3.weight", UP), SLICE(UP)},
    {EXPERTS("block_sparse_moe.experts.*.w2.weight", DOWN)},
};

const struct baton_tensor_names baton_names_mixtral = {
    IN_MODEL_LAYERS, .lists = {LIST(llama_top), LIST(pre_norms), LIST(llama_attention),
                               LIST(mixtral_experts), LIST(fused_experts)}};

static const struct baton_tensor_row qwen_experts[] = {
    {TENSOR("mlp.gate.weight", ROUTER), SLICE(EXPERTS)},
    {TENSOR("mlp.shared_expert_gate.weight", ROUTER), SLICE(SHARED_GATE)},
    {EXPERTS("mlp.experts.*.gate_proj.weight", UP), SLICE(GATE)},
    {EXPERTS("mlp.experts.*.up_proj.weight", UP), SLICE(UP)},
    {EXPERTS("mlp.experts.*.down_proj.weight", DOWN)},
    {TENSOR("mlp.shared_expert.gate_proj.weight", SHARED_UP), SLICE(GATE)},
    {TENSOR("mlp.shared_expert.up_proj.weight", SHARED_UP), SLICE(UP)},
    {TENSOR("mlp.shared_expert.down_proj.weight", SHARED_DOWN)},
};

const struct baton_tensor_names baton_names_qwen_moe = {
    IN_MODEL_LAYERS, .lists = {LIST(llama_top), LIST(pre_norms), LIST(llama_attention),
                               LIST(llama_mlp), LIST(qwen_experts), LIST(fused_experts)}};

/* qwen3_next has two matrices, by key heads, where qwen3_5 has four. */
static const struct baton_tensor_row delta_rows[] = {
    {OF_STATE("linear_attn.in_proj_qkv.weight", QKV), SLICE(CHANNELS)},
    {OF_STATE("linear_attn.in_proj_z.weight", QKV), SLICE(Z)},
    {OF_STATE("linear_attn.in_proj_b.weight", QKV), SLICE(B)},
    {OF_STATE("linear_attn.in_proj_a.weight", QKV), SLICE(A)},
    {OF_STATE("linear_attn.in_proj_qkvz.weight", QKV), SLICE(CHANNELS_Z)},
    {OF_STATE("linear_attn.in_proj_ba.weight", QKV), SLICE(BA)},
    {OF_STATE("linear_attn.out_proj.weight", OUT)},
    {TENSOR("linear_attn.conv1d.weight", TAPS), .transposed = true, .has_third = true},
    {TENSOR("linear_attn.A_log", STATE_RATE)},
    {TENSOR("linear_attn.dt_bias", STATE_BIAS)},
    {TENSOR("linear_attn.norm.weight", STATE_NORM)},
};

const struct baton_tensor_names baton_names_qwen_hybrid = {
    IN_MODEL_LAYERS, .norms_less_one = true,
    .lists = {LIST(llama_top), LIST(pre_norms), LIST(llama_attention), LIST(llama_mlp),
              LIST(qwen_experts), LIST(fused_experts), LIST(delta_rows)}};

static const struct baton_tensor_row draft_rows[] = {
    DRAFT_ROWS("mtp.fc", "mtp.pre_fc_norm_embedding", "mtp.pre_fc_norm_hidden", "mtp.norm")};

const struct baton_tensor_names baton_names_qwen_draft = {
    .prefix = "",
    .layer_prefix = "mtp.layers.",
    .norms_less_one = true,
    .is_part = true,
    .lists = {LIST(draft_rows), LIST(pre_norms), LIST(llama_attention), LIST(llama_mlp),
              LIST(qwen_experts), LIST(fused_experts)}};

/* ---- latent attention: DeepSeek V2 and V3, GLM 4.7 Flash ---- */

static const struct baton_tensor_row deepseek_attention[] = {
    {TENSOR("self_attn.q_proj.weight", QKV), SLICE(HEADS_Q)},
    {TENSOR("self_attn.q_a_proj.weight", QKV), SLICE(Q_RANK)},
    {TENSOR("self_attn.q_a_layernorm.weight", Q_RANK_NORM)},
    {TENSOR("self_attn.q_b_proj.weight", Q_UP), SLICE(HEADS_Q)},
    {TENSOR("self_attn.kv_a_proj_with_mqa.weight", QKV), SLICE(LATENT)},
    {TENSOR("self_attn.kv_a_layernorm.weight", LATENT_NORM)},
    {EXPERTS("self_attn.kv_b_proj.weight", KEY_UP), SLICE(KEYS_UP), .transposed = true,
     .is_flat = true},
    {EXPERTS("self_attn.kv_b_proj.weight", VALUE_UP), SLICE(VALUES_UP), .is_flat = true},
    {TENSOR("self_attn.o_proj.weight", OUT)},
};

static const struct baton_tensor_row deepseek_experts[] = {
    {TENSOR("mlp.gate.weight", ROUTER)},
    {TENSOR("mlp.gate.e_score_correction_bias", SCORE_BIAS)},
    {EXPERTS("mlp.experts.*.gate_proj.weight", UP), SLICE(GATE)},
    {EXPERTS("mlp.experts.*.up_proj.weight", UP), SLICE(UP)},
    {EXPERTS("mlp.experts.*.down_proj.weight", DOWN)},
    {TENSOR("mlp.shared_experts.gate_proj.weight", SHARED_UP), SLICE(GATE)},
    {TENSOR("mlp.shared_experts.up_proj.weight", SHARED_UP), SLICE(UP)},
    {TENSOR("mlp.shared_experts.down_proj.weight", SHARED_DOWN)},
};

const struct baton_tensor_names baton_names_deepseek = {
    IN_MODEL_LAYERS, .has_late_layers = true,
    .lists = {LIST(llama_top), LIST(pre_norms), LIST(deepseek_attention), LIST(llama_mlp),
              LIST(deepseek_experts), LIST(fused_experts)}};

static const struct baton_tensor_row granite_experts[] = {
    {TENSOR("block_sparse_moe.router.layer.weight", ROUTER)},
    {EXPERTS("block_sparse_moe.input_linear.weight", UP)},
    {EXPERTS("block_sparse_moe.output_linear.weight", DOWN)},
    {TENSOR("shared_mlp.input_linear.weight", SHARED_UP)},
    {TENSOR("shared_mlp.output_linear.weight", SHARED_DOWN)},
    {TENSOR("shared_mlp.input_linear.weight", UP)}, /* of models without experts */
    {TENSOR("shared_mlp.output_linear.weight", DOWN)},
};

const struct baton_tensor_names baton_names_granite_moe = {
    IN_MODEL_LAYERS,
    .lists = {LIST(llama_top), LIST(pre_norms), LIST(llama_attention), LIST(granite_experts)}};

/* The projections of a layer are z, x, B, C and dt, and mixers of both families differ in their
 * name alone. */
#define MAMBA(mixer)                                                                               \
    {OF_STATE(mixer ".in_proj.weight", QKV)}, {OF_STATE(mixer ".out_proj.weight", OUT)},           \
        {TENSOR(mixer ".conv1d.weight", TAPS), .transposed = true, .has_third = true},             \
        {TENSOR(mixer ".conv1d.bias", TAPS_BIAS)}, {TENSOR(mixer ".A_log", STATE_RATE)},           \
        {TENSOR(mixer ".dt_bias", STATE_BIAS)}, {TENSOR(mixer ".D", STATE_SKIP)},                  \
    {                                                                                              \
        TENSOR(mixer ".norm.weight", STATE_NORM)                                                   \
    }

static const struct baton_tensor_row granite_mamba[] = {MAMBA("mamba")};

const struct baton_tensor_names baton_names_granite_hybrid = {
    IN_MODEL_LAYERS, .lists = {LIST(llama_top), LIST(pre_norms), LIST(llama_attention),
                               LIST(granite_experts), LIST(granite_mamba)}};

/* A layer has one part, and one norm before it. */
static const struct baton_tensor_row nemotron_rows[] = {
    {TENSOR("embeddings.weight", TOKEN_EMBEDDING)},
    {TENSOR("norm_f.weight", FINAL_NORM)},
    {TENSOR("lm_head.weight", HEAD)},
    {TENSOR("norm.weight", ATTN_NORM)},
    {TENSOR("norm.weight", MLP_NORM)},
    {TENSOR("mixer.q_proj.weight", QKV), SLICE(Q)},
    {TENSOR("mixer.k_proj.weight", QKV), SLICE(K)},
    {TENSOR("mixer.v_proj.weight", QKV), SLICE(V)},
    {TENSOR("mixer.q_proj.bias", QKV_BIAS), SLICE(Q)},
    {TENSOR("mixer.k_proj.bias", QKV_BIAS), SLICE(K)},
    {TENSOR("mixer.v_proj.bias", QKV_BIAS), SLICE(V)},
    {TENSOR("mixer.o_proj.weight", OUT)},
    {TENSOR("mixer.o_proj.bias", OUT_BIAS)},
    {TENSOR("mixer.up_proj.weight", UP)},
    {TENSOR("mixer.up_proj.bias", UP_BIAS)},
    {TENSOR("mixer.down_proj.weight", DOWN)},
    {TENSOR("mixer.down_proj.bias", DOWN_BIAS)},
    {TENSOR("mixer.gate.weight", ROUTER)},
    {TENSOR("mixer.gate.e_score_correction_bias", SCORE_BIAS)},
    {EXPERTS("mixer.experts.*.up_proj.weight", UP)},
    {EXPERTS("mixer.experts.*.down_proj.weight", DOWN)},
    {EXPERTS("mixer.experts.up_proj", UP)}, /* newer files fuse all experts */
    {EXPERTS("mixer.experts.down_proj", DOWN)},
    {TENSOR("mixer.shared_experts.up_proj.weight", SHARED_UP)},
    {TENSOR("mixer.shared_experts.down_proj.weight", SHARED_DOWN)},
};

static const struct baton_tensor_row nemotron_mamba[] = {MAMBA("mixer")};

const struct baton_tensor_names baton_names_nemotron = {
    .prefix = "backbone.",
    .layer_prefix = "layers.",
    .lists = {LIST(nemotron_rows), LIST(nemotron_mamba)}};

/* ---- LFM2 ---- */

static const struct baton_tensor_row lfm2_rows[] = {
    {TENSOR("embed_tokens.weight", TOKEN_EMBEDDING)},
    {TENSOR("embedding_norm.weight", FINAL_NORM)}, /* whatever its name says */
    {TENSOR("lm_head.weight", HEAD)},
    {TENSOR("operator_norm.weight", ATTN_NORM)},
    {TENSOR("ffn_norm.weight", MLP_NORM)},
    {TENSOR("self_attn.q_proj.weight", QKV), SLICE(Q)},
    {TENSOR("self_attn.k_proj.weight", QKV), SLICE(K)},
    {TENSOR("self_attn.v_proj.weight", QKV), SLICE(V)},
    {TENSOR("self_attn.q_layernorm.weight", Q_NORM)},
    {TENSOR("self_attn.k_layernorm.weight", K_NORM)},
    {TENSOR("self_attn.out_proj.weight", OUT)},
    {OF_STATE("conv.in_proj.weight", QKV)},
    {OF_STATE("conv.out_proj.weight", OUT)},
    {TENSOR("conv.conv.weight", TAPS), .transposed = true, .has_third = true},
    {TENSOR("feed_forward.w1.weight", UP), SLICE(GATE)},
    {TENSOR("feed_forward.w3.weight", UP), SLICE(UP)},
    {TENSOR("feed_forward.w2.weight", DOWN)},
    {TENSOR("feed_forward.gate.weight", ROUTER)},
    {TENSOR("feed_forward.expert_bias", SCORE_BIAS)},
    {EXPERTS("feed_forward.experts.*.w1.weight", UP), SLICE(GATE)},
    {EXPERTS("feed_forward.experts.*.w3.weight", UP), SLICE(UP)},
    {EXPERTS("feed_forward.experts.*.w2.weight", DOWN)},
    {EXPERTS("feed_forward.experts.gate_up_proj", UP)}, /* newer files fuse all experts */
    {EXPERTS("feed_forward.experts.down_proj", DOWN)},
};

const struct baton_tensor_names baton_names_lfm2 = {
    .prefix = "model.", .layer_prefix = "layers.", .lists = {LIST(lfm2_rows)}};

/* Plain tensors are stored [in][out], those of MXFP4 blocks by outputs. */
static const struct baton_tensor_row gpt_oss_experts[] = {
    {TENSOR("mlp.router.weight", ROUTER)},
    {TENSOR("mlp.router.bias", ROUTER_BIAS)},
    {EXPERTS("mlp.experts.gate_up_proj", UP), .transposed = true, .alternates = true},
    {EXPERTS("mlp.experts.gate_up_proj_blocks", UP), .alternates = true,
     .scales = "mlp.experts.gate_up_proj_scales"},
    {EXPERTS("mlp.experts.gate_up_proj_bias", UP_BIAS), .alternates = true},
    {EXPERTS("mlp.experts.down_proj", DOWN), .transposed = true},
    {EXPERTS("mlp.experts.down_proj_blocks", DOWN), .scales = "mlp.experts.down_proj_scales"},
    {EXPERTS("mlp.experts.down_proj_bias", DOWN_BIAS)},
};

const struct baton_tensor_names baton_names_gpt_oss = {
    IN_MODEL_LAYERS,
    .lists = {LIST(llama_top), LIST(pre_norms), LIST(llama_attention), LIST(gpt_oss_experts)}};

/* ---- Gemma 4 ---- */

static const struct baton_tensor_row gemma4_rows[] = {
    {TENSOR("embed_tokens_per_layer.weight", PER_LAYER_TABLE)},
    {TENSOR("per_layer_model_projection.weight", PER_LAYER_IN)},
    {TENSOR("per_layer_projection_norm.weight", PER_LAYER_IN_NORM)},
    {TENSOR("per_layer_input_gate.weight", PER_LAYER_GATE)},
    {TENSOR("per_layer_projection.weight", PER_LAYER_OUT)},
    {TENSOR("post_per_layer_input_norm.weight", PER_LAYER_NORM)},
    {TENSOR("layer_scalar", LAYER_SCALE)},
};

/* In a layer with experts the MLP beside them is the shared expert. */
static const struct baton_tensor_row gemma4_experts[] = {
    {TENSOR("mlp.gate_proj.weight", SHARED_UP), SLICE(GATE)},
    {TENSOR("mlp.up_proj.weight", SHARED_UP), SLICE(UP)},
    {TENSOR("mlp.down_proj.weight", SHARED_DOWN)},
    {TENSOR("post_feedforward_layernorm_1.weight", SHARED_POST_NORM)},
    {TENSOR("router.proj.weight", ROUTER)},
    {TENSOR("router.scale", ROUTER_NORM)},
    {TENSOR("router.per_expert_scale", EXPERT_SCALES)},
    {TENSOR("pre_feedforward_layernorm_2.weight", EXPERTS_NORM)},
    {EXPERTS("experts.gate_up_proj", UP)},
    {EXPERTS("experts.down_proj", DOWN)},
    {TENSOR("post_feedforward_layernorm_2.weight", EXPERTS_POST_NORM)},
};

const struct baton_tensor_names baton_names_gemma4 = {
    IN_MODEL_LAYERS, .lists = {LIST(llama_top), LIST(gemma_sandwich_norms), LIST(llama_attention),
                               LIST(llama_mlp), LIST(gemma4_rows), LIST(gemma4_experts)}};

/* ---- Phi 1 and 2 ---- */

static const struct baton_tensor_row phi_rest[] = {
    {TENSOR("embed_tokens.weight", TOKEN_EMBEDDING)},
    {TENSOR("final_layernorm.weight", FINAL_NORM)},
    {TENSOR("final_layernorm.bias", FINAL_NORM_BIAS)},
    {TENSOR("lm_head.weight", HEAD)},
    {TENSOR("lm_head.bias", HEAD_BIAS)},
    {TENSOR("self_attn.dense.weight", OUT)},
    {TENSOR("self_attn.dense.bias", OUT_BIAS)},
    {TENSOR("mlp.fc1.weight", UP)},
    {TENSOR("mlp.fc1.bias", UP_BIAS)},
    {TENSOR("mlp.fc2.weight", DOWN)},
    {TENSOR("mlp.fc2.bias", DOWN_BIAS)},
};

const struct baton_tensor_names baton_names_phi = {
    IN_MODEL_LAYERS, .lists = {LIST(phi_rest), LIST(pre_norms), LIST(llama_attention)}};

/* ---- GPT-NeoX, GPT-2, GPT-J, GPT-Neo ---- */

static const struct baton_tensor_row gpt_neox_rows[] = {
    {TENSOR("embed_in.weight", TOKEN_EMBEDDING)},
    {TENSOR("final_layer_norm.weight", FINAL_NORM)},
    {TENSOR("final_layer_norm.bias", FINAL_NORM_BIAS)},
    {TENSOR("embed_out.weight", HEAD)},
    {TENSOR("attention.query_key_value.weight", QKV), .by_heads = true},
    {TENSOR("attention.query_key_value.bias", QKV_BIAS), .by_heads = true},
    {TENSOR("attention.dense.weight", OUT)},
    {TENSOR("attention.dense.bias", OUT_BIAS)},
    {TENSOR("mlp.dense_h_to_4h.weight", UP)},
    {TENSOR("mlp.dense_h_to_4h.bias", UP_BIAS)},
    {TENSOR("mlp.dense_4h_to_h.weight", DOWN)},
    {TENSOR("mlp.dense_4h_to_h.bias", DOWN_BIAS)},
};

const struct baton_tensor_names baton_names_gpt_neox = {
    .prefix = "gpt_neox.",
    .layer_prefix = "layers.",
    .lists = {LIST(gpt_neox_rows), LIST(pre_norms)}};

/* The names that GPT-2, GPT-J and GPT-Neo share. */
static const struct baton_tensor_row gpt_rows[] = {
    {TENSOR("wte.weight", TOKEN_EMBEDDING)}, {TENSOR("wpe.weight", POSITION_EMBEDDING)},
    {TENSOR("ln_1.weight", ATTN_NORM)},      {TENSOR("ln_1.bias", ATTN_NORM_BIAS)},
    {TENSOR("ln_2.weight", MLP_NORM)},       {TENSOR("ln_2.bias", MLP_NORM_BIAS)},
    {TENSOR("ln_f.weight", FINAL_NORM)},     {TENSOR("ln_f.bias", FINAL_NORM_BIAS)},
    {TENSOR("lm_head.weight", HEAD)},        {TENSOR("lm_head.bias", HEAD_BIAS)},
};

/* GPT-2 stores matrices as [in][out]: its layers are Conv1D, not Linear. */
static const struct baton_tensor_row gpt2_rows[] = {
    {TENSOR("attn.c_attn.weight", QKV), .transposed = true}, {TENSOR("attn.c_attn.bias", QKV_BIAS)},
    {TENSOR("attn.c_proj.weight", OUT), .transposed = true}, {TENSOR("attn.c_proj.bias", OUT_BIAS)},
    {TENSOR("mlp.c_fc.weight", UP), .transposed = true},     {TENSOR("mlp.c_fc.bias", UP_BIAS)},
    {TENSOR("mlp.c_proj.weight", DOWN), .transposed = true}, {TENSOR("mlp.c_proj.bias", DOWN_BIAS)},
};

const struct baton_tensor_names baton_names_gpt2 = {
    .prefix = "transformer.", .layer_prefix = "h.", .lists = {LIST(gpt_rows), LIST(gpt2_rows)}};

static const struct baton_tensor_row gptj_rows[] = {
    {TENSOR("attn.q_proj.weight", QKV), SLICE(Q)},
    {TENSOR("attn.k_proj.weight", QKV), SLICE(K)},
    {TENSOR("attn.v_proj.weight", QKV), SLICE(V)},
    {TENSOR("attn.out_proj.weight", OUT)},
    {TENSOR("mlp.fc_in.weight", UP)},
    {TENSOR("mlp.fc_in.bias", UP_BIAS)},
    {TENSOR("mlp.fc_out.weight", DOWN)},
    {TENSOR("mlp.fc_out.bias", DOWN_BIAS)},
};

const struct baton_tensor_names baton_names_gptj = {
    .prefix = "transformer.", .layer_prefix = "h.", .lists = {LIST(gpt_rows), LIST(gptj_rows)}};

static const struct baton_tensor_row gpt_neo_rows[] = {
    {TENSOR("attn.attention.q_proj.weight", QKV), SLICE(Q)},
    {TENSOR("attn.attention.k_proj.weight", QKV), SLICE(K)},
    {TENSOR("attn.attention.v_proj.weight", QKV), SLICE(V)},
    {TENSOR("attn.attention.out_proj.weight", OUT)},
    {TENSOR("attn.attention.out_proj.bias", OUT_BIAS)},
    {TENSOR("mlp.c_fc.weight", UP)},
    {TENSOR("mlp.c_fc.bias", UP_BIAS)},
    {TENSOR("mlp.c_proj.weight", DOWN)},
    {TENSOR("mlp.c_proj.bias", DOWN_BIAS)},
};

const struct baton_tensor_names baton_names_gpt_neo = {
    .prefix = "transformer.", .layer_prefix = "h.", .lists = {LIST(gpt_rows), LIST(gpt_neo_rows)}};
