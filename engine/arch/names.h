/* The names that families of architectures share, and short words for lists of names
 * (tensors.h), for the architectures' files only:
 *
 *     static const struct baton_tensor_row rows[] = {
 *         {TENSOR("wte.weight", TOKEN_EMBEDDING)},
 *         {TENSOR("self_attn.q_proj.weight", QKV), PART(Q)},
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
#define PART(of)          .part = BATON_PART_##of
#define LIST(rows)                                                                                 \
    {                                                                                              \
        rows, BATON_N_OF(rows)                                                                     \
    }

/* Llama's serve every architecture that has some of its parts: Mistral, Qwen 2 and 3, Granite,
 * SmolLM 3, MiniCPM, Cohere. Gemma 2's are those of Gemma 3, Qwen's mixtures those of OLMoE. */
extern const struct baton_tensor_names baton_names_gpt2, baton_names_llama, baton_names_phi3,
    baton_names_gemma, baton_names_gemma2, baton_names_glm4, baton_names_olmo2,
    baton_names_starcoder2, baton_names_phi, baton_names_gpt_neox, baton_names_gptj,
    baton_names_gpt_neo, baton_names_mixtral, baton_names_qwen_moe, baton_names_granite_moe,
    baton_names_gpt_oss;

/* In GGUF files: with q, k and v as they are, or as pairs; with gate and up in one, or none. */
extern const struct baton_tensor_names baton_names_gguf, baton_names_gguf_paired,
    baton_names_gguf_whole, baton_names_gguf_gpt_oss;

#endif
