/* The names of tensors in checkpoints of encoders, in Hugging Face's layout. */
#include "engine/arch/names.h"

/* ---- BERT, RoBERTa, XLM-R ---- */

static const struct baton_tensor_row bert_top[] = {
    {TENSOR("embeddings.word_embeddings.weight", TOKEN_EMBEDDING)},
    {TENSOR("embeddings.position_embeddings.weight", POSITION_EMBEDDING)},
    {TENSOR("embeddings.token_type_embeddings.weight", TOKEN_TYPES)},
    {TENSOR("embeddings.LayerNorm.weight", EMBED_NORM)},
    {TENSOR("embeddings.LayerNorm.bias", EMBED_NORM_BIAS)},
    {TENSOR("embeddings.LayerNorm.gamma", EMBED_NORM)}, /* files converted from TensorFlow */
    {TENSOR("embeddings.LayerNorm.beta", EMBED_NORM_BIAS)},
};

static const struct baton_tensor_row bert_layers[] = {
    {TENSOR("attention.self.query.weight", QKV), SLICE(Q)},
    {TENSOR("attention.self.key.weight", QKV), SLICE(K)},
    {TENSOR("attention.self.value.weight", QKV), SLICE(V)},
    {TENSOR("attention.self.query.bias", QKV_BIAS), SLICE(Q)},
    {TENSOR("attention.self.key.bias", QKV_BIAS), SLICE(K)},
    {TENSOR("attention.self.value.bias", QKV_BIAS), SLICE(V)},
    {TENSOR("attention.output.dense.weight", OUT)},
    {TENSOR("attention.output.dense.bias", OUT_BIAS)},
    {TENSOR("attention.output.LayerNorm.weight", ATTN_POST_NORM)},
    {TENSOR("attention.output.LayerNorm.bias", ATTN_POST_NORM_BIAS)},
    {TENSOR("attention.output.LayerNorm.gamma", ATTN_POST_NORM)},
    {TENSOR("attention.output.LayerNorm.beta", ATTN_POST_NORM_BIAS)},
    {TENSOR("intermediate.dense.weight", UP)},
    {TENSOR("intermediate.dense.bias", UP_BIAS)},
    {TENSOR("output.dense.weight", DOWN)},
    {TENSOR("output.dense.bias", DOWN_BIAS)},
    {TENSOR("output.LayerNorm.weight", MLP_POST_NORM)},
    {TENSOR("output.LayerNorm.bias", MLP_POST_NORM_BIAS)},
    {TENSOR("output.LayerNorm.gamma", MLP_POST_NORM)},
    {TENSOR("output.LayerNorm.beta", MLP_POST_NORM_BIAS)},
};

/* A reranker's head is BERT's pooler and a classifier, or RoBERTa's classifier of two stages. An
 * embedder's is the dense modules of sentence-transformers. */
static const struct baton_tensor_row heads[] = {
    {TENSOR("pooler.dense.weight", POOLED_1)},
    {TENSOR("pooler.dense.bias", POOLED_1_BIAS)},
    {TENSOR("classifier.weight", POOLED_2), .is_bare = true},
    {TENSOR("classifier.bias", POOLED_2_BIAS), .is_bare = true},
};

static const struct baton_tensor_row roberta_heads[] = {
    {TENSOR("classifier.dense.weight", POOLED_1), .is_bare = true},
    {TENSOR("classifier.dense.bias", POOLED_1_BIAS), .is_bare = true},
    {TENSOR("classifier.out_proj.weight", POOLED_2), .is_bare = true},
    {TENSOR("classifier.out_proj.bias", POOLED_2_BIAS), .is_bare = true},
};

const struct baton_tensor_row baton_dense_modules[BATON_N_DENSE_MODULES] = {
    {TENSOR("2_Dense.linear.weight", POOLED_1), .is_bare = true},
    {TENSOR("2_Dense.linear.bias", POOLED_1_BIAS), .is_bare = true},
    {TENSOR("3_Dense.linear.weight", POOLED_2), .is_bare = true},
    {TENSOR("3_Dense.linear.bias", POOLED_2_BIAS), .is_bare = true},
};

const struct baton_tensor_names baton_names_bert = {
    .prefix = "",
    .layer_prefix = "encoder.layer.",
    .lists = {LIST(bert_top), LIST(bert_layers), LIST(baton_dense_modules), LIST(heads)}};

const struct baton_tensor_names baton_names_roberta = {
    .prefix = "",
    .layer_prefix = "encoder.layer.",
    .lists = {LIST(bert_top), LIST(bert_layers), LIST(baton_dense_modules), LIST(roberta_heads)}};

/* ---- Nomic ---- */

static const struct baton_tensor_row nomic_top[] = {
    {TENSOR("embeddings.word_embeddings.weight", TOKEN_EMBEDDING)},
    {TENSOR("embeddings.token_type_embeddings.weight", TOKEN_TYPES)},
    {TENSOR("emb_ln.weight", EMBED_NORM)},
    {TENSOR("emb_ln.bias", EMBED_NORM_BIAS)},
};

/* fc12 is the gate. The experts' matrices stand behind each other without a dimension of their
 * own. */
static const struct baton_tensor_row nomic_layers[] = {
    {TENSOR("attn.Wqkv.weight", QKV)},
    {TENSOR("attn.Wqkv.bias", QKV_BIAS)},
    {TENSOR("attn.out_proj.weight", OUT)},
    {TENSOR("attn.out_proj.bias", OUT_BIAS)},
    {TENSOR("norm1.weight", ATTN_POST_NORM)},
    {TENSOR("norm1.bias", ATTN_POST_NORM_BIAS)},
    {TENSOR("norm2.weight", MLP_POST_NORM)},
    {TENSOR("norm2.bias", MLP_POST_NORM_BIAS)},
    {TENSOR("mlp.fc12.weight", UP), SLICE(GATE)},
    {TENSOR("mlp.fc11.weight", UP), SLICE(UP)},
    {TENSOR("mlp.fc12.bias", UP_BIAS), SLICE(GATE)},
    {TENSOR("mlp.fc11.bias", UP_BIAS), SLICE(UP)},
    {TENSOR("mlp.fc1.weight", UP)},
    {TENSOR("mlp.fc1.bias", UP_BIAS)},
    {TENSOR("mlp.fc2.weight", DOWN)},
    {TENSOR("mlp.fc2.bias", DOWN_BIAS)},
    {TENSOR("mlp.router.layer.weight", ROUTER)},
    {EXPERTS("mlp.experts.mlp.w1", UP), .is_flat = true},
    {EXPERTS("mlp.experts.mlp.w2", DOWN), .is_flat = true, .transposed = true},
    {TENSOR("mlp.experts.bias", MIXTURE_BIAS)},
};

const struct baton_tensor_names baton_names_nomic = {
    .prefix = "",
    .layer_prefix = "encoder.layers.",
    .lists = {LIST(nomic_top), LIST(nomic_layers), LIST(baton_dense_modules)}};
