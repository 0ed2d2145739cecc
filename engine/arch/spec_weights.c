#include "engine/arch/spec_weights.h"

#include <math.h>

double baton_spec_distinct_experts(const struct baton_moe_spec *moe, double n_rows)
{
    double n_experts = moe->n_experts;
    return n_experts * (1 - pow(1 - moe->n_chosen / n_experts, n_rows));
}

double baton_spec_attention_weights(const struct baton_spec *spec, int layer)
{
    return (double)spec->n_embd *
           (baton_spec_qkv_width(spec, layer) + baton_spec_q_width(spec, layer));
}

static double dense_weights(const struct baton_spec *spec, int n_ff)
{
    int n_matrices = spec->mlp == BATON_MLP_GATED ? 3 : 2;
    return (double)n_matrices * spec->n_embd * n_ff;
}

double baton_spec_ff_weights(const struct baton_spec *spec, int layer, double n_rows)
{
    const struct baton_moe_spec *moe = &spec->moe;
    if (!spec->layers[layer].is_moe)
        return dense_weights(spec, spec->layers[layer].n_ff);
    int n_router = moe->n_experts + moe->has_shared_gate;
    return (double)n_router * spec->n_embd + dense_weights(spec, moe->n_ff_shared) +
           baton_spec_distinct_experts(moe, n_rows) * dense_weights(spec, moe->n_ff);
}

double baton_spec_head_weights(const struct baton_spec *spec)
{
    return (double)spec->n_embd * spec->n_vocab;
}

double baton_spec_step_weights(const struct baton_spec *spec, double n_rows)
{
    double n = baton_spec_head_weights(spec);
    for (int i = 0; i < spec->n_layers; i++)
        n += baton_spec_attention_weights(spec, i) + baton_spec_ff_weights(spec, i, n_rows);
    return n;
}

int baton_spec_chunk(const struct baton_spec *spec)
{
    const struct baton_moe_spec *moe = &spec->moe;
    if (!moe->n_experts)
        return BATON_DENSE_CHUNK;
    int n_rows = BATON_DENSE_CHUNK * moe->n_experts / moe->n_chosen;
    return n_rows < BATON_MOST_CHUNK ? n_rows : BATON_MOST_CHUNK;
}
