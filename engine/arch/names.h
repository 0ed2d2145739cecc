/* The lists of names that families of architectures share, and macros for such lists (tensors.h).
 * Only the architectures' files include this:
 *
 *     static const struct baton_tensor_row rows[] = {
 *         {TENSOR("wte.weight", TOKEN_EMBEDDING)},
 *         {TENSOR("self_attn.q_proj.weight", QKV), SLICE(Q)},
 *     };
 *     .lists = {LIST(rows)},
 *
 * Pure.
 */
#ifndef BATON_ENGINE_ARCH_NAMES_H
#define BATON_ENGINE_ARCH_NAMES_H

#include "common/base/array.h"
#include "engine/arch/tensors.h"

#define TENSOR(text, of)  .name = (text), .kind = BATON_ARRAY_##of
#define EXPERTS(text, of) TENSOR(text, of), .of_experts = true
#define SLICE(of)         .slice = BATON_SLICE_##of
#define BARE(text, of)    TENSOR(text ".weight", of), .is_bare = true
#define DRAFT_ROWS(in, token_norm, state_norm, norm)                                               \
    {BARE(in, DRAFT_IN)}, {BARE(token_norm, DRAFT_TOKEN_NORM)},                                    \
        {BARE(state_norm, DRAFT_STATE_NORM)},                                                      \
    {                                                                                              \
        BARE(norm, FINAL_NORM)                                                                     \
    }
#define OF_STATE(text, of) TENSOR(text, of), .of_state = true
#define LIST(rows)                                                                                 \
    {                                                                                              \
        rows, BATON_N_OF(rows)                                                                     \
    }

/* Llama's names serve every architecture that has a part of its tensors: Mistral, Qwen 2 and 3,
 * Granite, SmolLM 3, MiniCPM, Cohere. Gemma 3 shares Gemma 2's, OLMoE those of Qwen's mixtures. */
extern const struct baton_tensor_names baton_names_gpt2, baton_names_llama, baton_names_phi3,
    baton_names_gemma, baton_names_gemma2, baton_names_glm4, baton_names_olmo2,
    baton_names_starcoder2, baton_names_phi, baton_names_gpt_neox, baton_names_gptj,
    baton_names_gpt_neo, baton_names_mixtral, baton_names_qwen_moe, baton_names_granite_moe,
    baton_names_gpt_oss, baton_names_arcee, baton_names_hunyuan, baton_names_apertus,
    baton_names_gemma4, baton_names_qwen_hybrid, baton_names_qwen_draft, baton_names_bert,
    baton_names_roberta, baton_names_nomic, baton_names_deepseek, baton_names_lfm2,
    baton_names_granite_hybrid, baton_names_nemotron;

/* The names in GGUF files: with separate q, k and v in plain or in paired order, or with fused qkv
 * and a plain MLP or a fused gate and up; paired ones with a plain MLP; those whose
 * post_attention_norm comes before the MLP. */
extern const struct baton_tensor_names baton_names_gguf, baton_names_gguf_paired,
    baton_names_gguf_whole, baton_names_gguf_arcee, baton_names_gguf_apertus,
    baton_names_gguf_seed_oss, baton_names_gguf_gpt_oss, baton_names_gguf_gemma4,
    baton_names_gguf_qwen_hybrid, baton_names_gguf_qwen_draft, baton_names_gguf_encoder,
    baton_names_gguf_deepseek, baton_names_gguf_lfm2, baton_names_gguf_granite_hybrid,
    baton_names_gguf_nemotron;

/* The weights of dense modules of sentence-transformers. */
enum { BATON_N_DENSE_MODULES = 4 };
extern const struct baton_tensor_row baton_dense_modules[BATON_N_DENSE_MODULES];

#endif
