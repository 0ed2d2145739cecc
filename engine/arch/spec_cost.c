#include "engine/arch/spec_cost.h"

#include <math.h>

/* ---- weights ---- */

double baton_spec_distinct_experts(const struct baton_moe_spec *moe, double n_rows)
{
    double n_experts = moe->n_experts;
    return n_experts * (1 - pow(1 - moe->n_chosen / n_experts, n_rows));
}

int baton_spec_last_kv_layer(const struct baton_spec *spec)
{
    int layer = spec->n_layers - 1;
    while (layer > 0 && !baton_spec_stores_kv(spec, layer))
        layer--;
    return layer;
}

/* The matrices between projections and attention, and after it. */
static double latent_weights(const struct baton_spec *spec)
{
    const struct baton_latent_spec *latent = &spec->latent;
    return (double)latent->n_q_rank * baton_latent_q_width(spec) +
           (double)spec->n_heads * latent->n_rank * (latent->n_plain + latent->n_values);
}

double baton_spec_attention_weights(const struct baton_spec *spec, int layer)
{
    return latent_weights(spec) + (double)spec->n_embd * (baton_spec_qkv_width(spec, layer) +
                                                          baton_spec_q_width(spec, layer));
}

static double dense_weights(const struct baton_spec *spec, int n_ff)
{
    int n_matrices = spec->mlp == BATON_MLP_GATED ? 3 : 2;
    return (double)n_matrices * spec->n_embd * n_ff;
}

double baton_spec_ff_weights(const struct baton_spec *spec, int layer, double n_rows)
{
    const struct baton_moe_spec *moe = &spec->moe;
    double n_input = 2.0 * spec->n_per_layer * spec->n_embd;
    if (spec->layers[layer].has_no_ff)
        return 0;
    if (!spec->layers[layer].is_moe)
        return n_input + dense_weights(spec, spec->layers[layer].n_ff);
    int n_router = moe->n_experts + moe->has_shared_gate;
    return n_input + (double)n_router * spec->n_embd + dense_weights(spec, moe->n_ff_shared) +
           baton_spec_distinct_experts(moe, n_rows) * dense_weights(spec, moe->n_ff);
}

double baton_spec_input_weights(const struct baton_spec *spec)
{
    return (double)spec->n_embd * baton_spec_per_layer_width(spec);
}

double baton_spec_head_weights(const struct baton_spec *spec)
{
    return (double)spec->n_embd * spec->n_vocab;
}

int baton_spec_chunk(const struct baton_spec *spec)
{
    const struct baton_moe_spec *moe = &spec->moe;
    if (spec->is_encoder) /* no stream waits behind a step */
        return BATON_ENCODER_CHUNK;
    if (!moe->n_experts)
        return BATON_DENSE_CHUNK;
    int n_rows = BATON_DENSE_CHUNK * moe->n_experts / moe->n_chosen;
    return n_rows < BATON_MOST_CHUNK ? n_rows : BATON_MOST_CHUNK;
}

/* ---- attention ---- */

double baton_spec_seen(int window, double n_positions)
{
    return window && window < n_positions ? window : n_positions;
}

/* Rows see one position more each until the window is full. */
double baton_spec_seen_by_rows(int window, double n_past, double n_rows)
{
    double n_growing = n_rows;
    if (window && n_past + n_rows > window)
        n_growing = n_past < window ? window - n_past : 0;
    return n_growing * n_past + n_growing * (n_growing + 1) / 2 + (n_rows - n_growing) * window;
}

double baton_spec_kv_elements(const struct baton_spec *spec)
{
    double n = 0;
    for (int i = 0; i < spec->n_layers; i++)
        if (baton_spec_stores_kv(spec, i) && !baton_spec_has_state(spec, i))
            n += baton_spec_kept_width(spec, i);
    return n;
}

/* Query heads' width of the layers with this window; of all when it is negative. */
static double width_under(const struct baton_spec *spec, int window)
{
    double n = 0;
    for (int i = 0; i < spec->n_layers; i++)
        if (window < 0 || spec->layers[i].window == window)
            n += baton_spec_q_width(spec, i);
    return n;
}

/* Layers may have windows of different sizes; the planner models one, so it gets the one with the
 * most query heads. */
int baton_spec_window(const struct baton_spec *spec)
{
    int most = 0;
    for (int i = 0; i < spec->n_layers; i++) {
        int window = spec->layers[i].window;
        if (window && (!most || width_under(spec, window) > width_under(spec, most)))
            most = window;
    }
    return most;
}

double baton_spec_windowed_share(const struct baton_spec *spec)
{
    int window = baton_spec_window(spec);
    return window ? width_under(spec, window) / width_under(spec, -1) : 0;
}
