/* GPT-2's spec from its sizes alone.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_ARCH_GPT2_H
#define BATON_ENGINE_ARCH_GPT2_H

#include "engine/arch/spec.h"

/* Letters as in spec.h. GPT-2's own sizes have n_kv_heads = n_heads and n_heads * head_dim =
 * n_embd; the computation needs neither. */
struct baton_gpt2_sizes {
    int n_layers, n_embd, n_heads, n_kv_heads, head_dim, n_ff, n_vocab, n_context;
};

void baton_gpt2_spec(const struct baton_gpt2_sizes *sizes, struct baton_spec *spec);

#endif
