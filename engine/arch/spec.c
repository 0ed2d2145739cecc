#include "engine/arch/spec.h"

static int larger(int a, int b)
{
    return a > b ? a : b;
}

int baton_spec_most_q_width(const struct baton_spec *spec)
{
    int most = 0;
    for (int i = 0; i < spec->n_layers; i++)
        most = larger(most, baton_spec_q_width(spec, i));
    return most;
}

int baton_spec_most_qkv_width(const struct baton_spec *spec)
{
    int most = 0;
    for (int i = 0; i < spec->n_layers; i++)
        most = larger(most, baton_spec_qkv_width(spec, i));
    return most;
}

int baton_spec_most_n_ff(const struct baton_spec *spec)
{
    int most = spec->moe.n_ff_shared;
    for (int i = 0; i < spec->n_layers; i++)
        most = larger(most, spec->layers[i].n_ff);
    return most;
}
