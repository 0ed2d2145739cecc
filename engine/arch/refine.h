/* Refinements that the rows of families.c cannot express: a function for each architecture that
 * needs one, which changes the spec that its row made of a config.
 *
 * Ownership: plain data.
 * Threading: pure.
 * Errors:    INVALID with the key, its value and the rule; *spec is then unspecified.
 */
#ifndef BATON_ENGINE_ARCH_REFINE_H
#define BATON_ENGINE_ARCH_REFINE_H

#include "engine/arch/spec.h"

#define BATON_REFINE(name)                                                                         \
    enum baton_err baton_refine_##name(const struct baton_model_config *config,                    \
                                       struct baton_spec *spec, struct baton_why *why)

/* The embedding's scale; in 2 and 3 one scale of scores for all head sizes. */
BATON_REFINE(gemma);
/* Unscaled scores, normed values, layer scales, inputs of layers, experts beside the MLP. */
BATON_REFINE(gemma4);
/* Unscaled scores; windows in every other layer. */
BATON_REFINE(gpt_neo);
/* Attention and MLP in parallel, or one after the other. */
BATON_REFINE(gpt_neox);
/* rotary_dim is required. */
BATON_REFINE(gptj);
/* Layers without rotation. */
BATON_REFINE(smollm3);
/* Queries that grow with the position. */
BATON_REFINE(ministral3);
/* Four multipliers. */
BATON_REFINE(granite);
/* Scales of the embedding, the residuals and the head. */
BATON_REFINE(minicpm);
/* The head's scale; norms of queries and keys. */
BATON_REFINE(cohere);
/* The same; global layers do not rotate. */
BATON_REFINE(cohere2);
/* One key for all biases. */
BATON_REFINE(use_bias);
/* The only activation with numbers of its own. */
BATON_REFINE(apertus);
/* Global layers do not rotate. */
BATON_REFINE(exaone4);
/* Queries and keys are normed after their rotation. */
BATON_REFINE(hunyuan);
/* A key for the bias of attention's output. */
BATON_REFINE(seed_oss);
/* Experts in every layer. */
BATON_REFINE(mixtral);
/* The same, renormalised if the config has norm_topk_prob. */
BATON_REFINE(olmoe);
/* Experts in some layers. */
BATON_REFINE(qwen3_moe);
/* The same, and a shared expert with a gate. */
BATON_REFINE(qwen2_moe);
/* Gated delta nets in most layers, and a gate of attention's result. */
BATON_REFINE(qwen_hybrid);
/* The same, with qwen2_moe's experts. */
BATON_REFINE(qwen_hybrid_moe);
/* Granite's multipliers, experts, a shared expert. */
BATON_REFINE(granitemoe);
/* The same, or a plain MLP under the shared expert's names; Mamba layers; often no rotation. */
BATON_REFINE(granitemoehybrid);
/* Latent attention; routers with sigmoids, biases and groups. */
BATON_REFINE(latents);
/* Both MiniCPM's scales and a latent row. */
BATON_REFINE(minicpm3);
/* Short convolutions in most layers, and a rule for F. */
BATON_REFINE(lfm2);
/* The same, with experts in all layers but the first ones. */
BATON_REFINE(lfm2_moe);
/* Layers of one part each. */
BATON_REFINE(nemotron_h);
/* Variants that are not computed. */
BATON_REFINE(bert);
/* Likewise; a plain or a gated MLP, experts in some layers. */
BATON_REFINE(nomic);
/* Sinks, clipped experts with biases, MXFP4. */
BATON_REFINE(gpt_oss);

#undef BATON_REFINE

/* Sets the sizes of K of a config with kv_lora_rank, which the others are required beside. */
enum baton_err baton_latent_heads(const struct baton_model_config *config,
                                  struct baton_layer_spec *layer,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Makes all layers mixtures of experts of width n_ff, whose weights are renormalised. */
enum baton_err baton_refine_set_experts(const struct baton_model_config *config, int n_ff,
                                        struct baton_spec *spec,
                                        struct baton_why *why) BATON_MUST_CHECK;

#endif
