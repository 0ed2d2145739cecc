#include "engine/arch/arrays.h"

#include "engine/arch/draft_head.h"

static struct baton_array vector(int n)
{
    return (struct baton_array){.n_rows = n, .n_columns = 1};
}

static struct baton_array matrix(int n_out, int n_in)
{
    return (struct baton_array){.n_rows = n_out, .n_columns = n_in, .is_matrix = true};
}

/* Absent arrays have no rows and still a place in the walk: an index then fits every model. */
static struct baton_array none(void)
{
    return (struct baton_array){.n_columns = 1};
}

static struct baton_array table(int n_rows, int n_columns)
{
    return (struct baton_array){.n_rows = n_rows, .n_columns = n_columns};
}

static struct baton_array norm(const struct baton_spec *spec, bool there)
{
    struct baton_array array = there ? vector(spec->n_embd) : none();
    array.center = 1;
    return array;
}

static struct baton_array norm_bias(const struct baton_spec *spec, bool there)
{
    return there && spec->norm_has_bias ? vector(spec->n_embd) : none();
}

/* The norm of n_heads heads, of queries or keys. */
static struct baton_array head_norm(const struct baton_spec *spec, int layer, int n_heads)
{
    int head_dim = spec->layers[layer].head_dim;
    struct baton_array array = vector(spec->qk_norm == BATON_QK_NORM_NONE   ? 0
                                      : spec->qk_norm == BATON_QK_NORM_HEAD ? head_dim
                                                                            : n_heads * head_dim);
    array.center = 1;
    return array;
}

static bool has_mlp_norm(const struct baton_spec *spec)
{
    return spec->form == BATON_BLOCK_PARALLEL ? spec->mlp_has_norm : baton_spec_has_pre_norms(spec);
}

/* up, with the gate before it if the MLP is gated, or the bias of these. */
static struct baton_array up(const struct baton_spec *spec, int n_ff, int n_columns)
{
    bool gated = spec->mlp == BATON_MLP_GATED;
    return (struct baton_array){
        .n_rows = gated ? 2 * n_ff : n_ff, .n_columns = n_columns, .is_gated = gated};
}

static struct baton_array up_matrix(const struct baton_spec *spec, int n_ff)
{
    struct baton_array array = up(spec, n_ff, spec->n_embd);
    array.is_matrix = true;
    return array;
}

/* The arrays of experts beside an MLP, but for the matrices. */
static struct baton_array beside_of_layer(const struct baton_spec *spec, enum baton_array_kind kind,
                                          int layer)
{
    bool there = spec->layers[layer].is_moe && spec->moe.is_beside;
    struct baton_array scales = there ? vector(spec->moe.n_experts) : none();
    scales.center = 1;
    return kind == BATON_ARRAY_EXPERT_SCALES ? scales : norm(spec, there);
}

/* A layer's input of a token, and the scale of its result. */
static struct baton_array per_layer_of_layer(const struct baton_spec *spec,
                                             enum baton_array_kind kind)
{
    struct baton_array scale = spec->has_layer_scales ? vector(1) : none();
    scale.center = 1;
    switch (kind) {
    case BATON_ARRAY_PER_LAYER_GATE:
        return spec->n_per_layer ? matrix(spec->n_per_layer, spec->n_embd) : none();
    case BATON_ARRAY_PER_LAYER_OUT:
        return spec->n_per_layer ? matrix(spec->n_embd, spec->n_per_layer) : none();
    case BATON_ARRAY_PER_LAYER_NORM:
        return norm(spec, spec->n_per_layer);
    default:
        return scale;
    }
}

static struct baton_array norm_of_layer(const struct baton_spec *spec, enum baton_array_kind kind,
                                        int layer)
{
    const struct baton_layer_spec *of = &spec->layers[layer];
    bool mixes = of->mixer != BATON_MIXER_NONE;
    switch (kind) {
    case BATON_ARRAY_ATTN_NORM:
        return norm(spec, baton_spec_has_pre_norms(spec) && mixes);
    case BATON_ARRAY_ATTN_NORM_BIAS:
        return norm_bias(spec, baton_spec_has_pre_norms(spec) && mixes);
    case BATON_ARRAY_MLP_NORM:
        return norm(spec, has_mlp_norm(spec) && !of->has_no_ff);
    case BATON_ARRAY_MLP_NORM_BIAS:
        return norm_bias(spec, has_mlp_norm(spec) && !of->has_no_ff);
    case BATON_ARRAY_ATTN_POST_NORM:
    case BATON_ARRAY_MLP_POST_NORM:
        return norm(spec, baton_spec_has_post_norms(spec));
    case BATON_ARRAY_ATTN_POST_NORM_BIAS:
    case BATON_ARRAY_MLP_POST_NORM_BIAS:
        return norm_bias(spec, baton_spec_has_post_norms(spec));
    default:
        return none();
    }
}

static struct baton_array mlp_of_layer(const struct baton_spec *spec, enum baton_array_kind kind,
                                       int layer)
{
    const struct baton_layer_spec *of = &spec->layers[layer];
    int n_ff = of->is_moe ? spec->moe.n_ff : of->n_ff;
    bool has_bias = spec->has_mlp_bias && !(of->is_moe && spec->moe.has_no_biases);
    if (of->has_no_ff)
        return none();
    switch (kind) {
    case BATON_ARRAY_UP:
        return up_matrix(spec, n_ff);
    case BATON_ARRAY_UP_BIAS:
        return up(spec, has_bias ? n_ff : 0, 1);
    case BATON_ARRAY_DOWN:
        return matrix(spec->n_embd, n_ff);
    case BATON_ARRAY_DOWN_BIAS:
        return vector(has_bias ? spec->n_embd : 0);
    default:
        return none();
    }
}

/* The arrays of a mixture beside its experts. A small error of a router may choose another expert,
 * so its weights keep all their bits. */
static struct baton_array mixture_of_layer(const struct baton_spec *spec,
                                           enum baton_array_kind kind, int layer)
{
    const struct baton_moe_spec *moe = &spec->moe;
    struct baton_array router = matrix(moe->n_experts + moe->has_shared_gate, spec->n_embd);
    router.is_exact = true;
    if (!spec->layers[layer].is_moe)
        return none();
    switch (kind) {
    case BATON_ARRAY_ROUTER:
        return router;
    case BATON_ARRAY_ROUTER_BIAS:
        return vector(spec->has_router_bias ? router.n_rows : 0);
    case BATON_ARRAY_SCORE_BIAS:
        return vector(moe->has_score_bias ? moe->n_experts : 0);
    case BATON_ARRAY_MIXTURE_BIAS:
        return vector(moe->has_one_bias ? spec->n_embd : 0);
    case BATON_ARRAY_SHARED_UP:
        return up_matrix(spec, moe->n_ff_shared);
    case BATON_ARRAY_SHARED_DOWN:
        return moe->n_ff_shared ? matrix(spec->n_embd, moe->n_ff_shared) : none();
    default:
        return none();
    }
}

static struct baton_array attention_of_layer(const struct baton_spec *spec,
                                             enum baton_array_kind kind, int layer)
{
    bool has_state = baton_spec_has_state(spec, layer);
    if ((has_state && kind != BATON_ARRAY_QKV && kind != BATON_ARRAY_OUT) ||
        spec->layers[layer].mixer == BATON_MIXER_NONE)
        return none();
    switch (kind) {
    case BATON_ARRAY_QKV:
        return matrix(baton_spec_qkv_width(spec, layer), spec->n_embd);
    case BATON_ARRAY_QKV_BIAS:
        return vector(spec->has_qkv_bias ? baton_spec_qkv_width(spec, layer) : 0);
    case BATON_ARRAY_OUT:
        return matrix(spec->n_embd, baton_spec_q_width(spec, layer));
    case BATON_ARRAY_OUT_BIAS:
        return vector(spec->has_out_bias ? spec->n_embd : 0);
    case BATON_ARRAY_Q_NORM:
        return head_norm(spec, layer, spec->n_heads);
    case BATON_ARRAY_K_NORM:
        return baton_spec_stores_kv(spec, layer)
                   ? head_norm(spec, layer, spec->layers[layer].n_kv_heads)
                   : none();
    case BATON_ARRAY_SINKS:
        return vector(spec->has_sinks ? spec->n_heads : 0);
    default:
        return none();
    }
}

/* The arrays of a layer with a state beside its projections. */
static struct baton_array state_of_layer(const struct baton_spec *spec, enum baton_array_kind kind,
                                         int layer)
{
    const struct baton_state_spec *state = &spec->state;
    bool is_mamba = spec->layers[layer].mixer == BATON_MIXER_MAMBA,
         is_short = spec->layers[layer].mixer == BATON_MIXER_SHORT;
    if (!baton_spec_has_state(spec, layer))
        return none();
    struct baton_array norm = vector(is_mamba ? baton_state_width(state) : state->n_values),
                       rate = vector(is_short ? 0 : state->n_heads),
                       taps = table(state->n_taps, baton_state_n_channels(state));
    taps.center = 0.5F; /* else all random keys are shorter than the epsilon of their length */
    norm.center = 1;
    norm.is_whole = taps.is_whole = true;
    switch (kind) {
    case BATON_ARRAY_TAPS:
        return taps;
    case BATON_ARRAY_STATE_RATE:
        rate.center = state->has_log_rate ? 0 : -1;
        return rate;
    case BATON_ARRAY_TAPS_BIAS:
        return vector(state->has_taps_bias ? baton_state_n_channels(state) : 0);
    case BATON_ARRAY_STATE_NORM:
        return is_short ? none() : norm;
    case BATON_ARRAY_STATE_SKIP:
        return vector(is_mamba ? state->n_heads : 0);
    default:
        return vector(is_short ? 0 : state->n_heads);
    }
}

/* The arrays of a layer with latents beside its projections; KEY_UP and VALUE_UP are a head's. */
static struct baton_array latent_of_layer(const struct baton_spec *spec, enum baton_array_kind kind)
{
    const struct baton_latent_spec *latent = &spec->latent;
    struct baton_array norm =
        vector(kind == BATON_ARRAY_LATENT_NORM ? latent->n_rank : latent->n_q_rank);
    norm.center = 1;
    if (!latent->n_rank)
        return none();
    switch (kind) {
    case BATON_ARRAY_Q_UP:
        return latent->n_q_rank ? matrix(baton_latent_q_width(spec), latent->n_q_rank) : none();
    case BATON_ARRAY_KEY_UP:
        return matrix(latent->n_rank, latent->n_plain);
    case BATON_ARRAY_VALUE_UP:
        return matrix(latent->n_values, latent->n_rank);
    default:
        return norm;
    }
}

static struct baton_array of_layer(const struct baton_spec *spec, enum baton_array_kind kind,
                                   int layer)
{
    switch (kind) {
    case BATON_ARRAY_QKV:
    case BATON_ARRAY_QKV_BIAS:
    case BATON_ARRAY_OUT:
    case BATON_ARRAY_OUT_BIAS:
    case BATON_ARRAY_Q_NORM:
    case BATON_ARRAY_K_NORM:
    case BATON_ARRAY_SINKS:
        return attention_of_layer(spec, kind, layer);
    case BATON_ARRAY_TAPS:
    case BATON_ARRAY_TAPS_BIAS:
    case BATON_ARRAY_STATE_RATE:
    case BATON_ARRAY_STATE_BIAS:
    case BATON_ARRAY_STATE_SKIP:
    case BATON_ARRAY_STATE_NORM:
        return state_of_layer(spec, kind, layer);
    case BATON_ARRAY_Q_RANK_NORM:
    case BATON_ARRAY_LATENT_NORM:
    case BATON_ARRAY_Q_UP:
    case BATON_ARRAY_KEY_UP:
    case BATON_ARRAY_VALUE_UP:
        return latent_of_layer(spec, kind);
    case BATON_ARRAY_UP:
    case BATON_ARRAY_UP_BIAS:
    case BATON_ARRAY_DOWN:
    case BATON_ARRAY_DOWN_BIAS:
        return mlp_of_layer(spec, kind, layer);
    case BATON_ARRAY_ROUTER:
    case BATON_ARRAY_ROUTER_BIAS:
    case BATON_ARRAY_SCORE_BIAS:
    case BATON_ARRAY_MIXTURE_BIAS:
    case BATON_ARRAY_SHARED_UP:
    case BATON_ARRAY_SHARED_DOWN:
        return mixture_of_layer(spec, kind, layer);
    case BATON_ARRAY_ROUTER_NORM:
    case BATON_ARRAY_EXPERT_SCALES:
    case BATON_ARRAY_EXPERTS_NORM:
    case BATON_ARRAY_EXPERTS_POST_NORM:
    case BATON_ARRAY_SHARED_POST_NORM:
        return beside_of_layer(spec, kind, layer);
    case BATON_ARRAY_PER_LAYER_GATE:
    case BATON_ARRAY_PER_LAYER_OUT:
    case BATON_ARRAY_PER_LAYER_NORM:
    case BATON_ARRAY_LAYER_SCALE:
        return per_layer_of_layer(spec, kind);
    case BATON_ARRAY_XIELU_P:
    case BATON_ARRAY_XIELU_N:
    case BATON_ARRAY_XIELU_B:
    case BATON_ARRAY_XIELU_EPS:
        return vector(spec->activation == BATON_ACT_XIELU);
    default:
        return norm_of_layer(spec, kind, layer);
    }
}

static struct baton_array per_layer_of_model(const struct baton_spec *spec,
                                             enum baton_array_kind kind)
{
    struct baton_array rows = table(spec->n_vocab, baton_spec_per_layer_width(spec)),
                       norm = vector(spec->n_per_layer);
    rows.is_mapped = true;
    norm.center = 1;
    if (!spec->n_per_layer)
        return none();
    return kind == BATON_ARRAY_PER_LAYER_TABLE ? rows
           : kind == BATON_ARRAY_PER_LAYER_IN
               ? matrix(baton_spec_per_layer_width(spec), spec->n_embd)
               : norm;
}

/* They are kept exact: they are small, and they are applied once a text. */
static struct baton_array pooled_stage(const struct baton_spec *spec, int stage, bool is_bias)
{
    const struct baton_pooled_stage *of = &spec->pooled_stages[stage];
    if (stage >= spec->n_pooled_stages)
        return none();
    if (is_bias)
        return vector(of->has_bias ? of->n_out : 0);
    struct baton_array array =
        matrix(of->n_out, stage ? spec->pooled_stages[stage - 1].n_out : spec->n_embd);
    array.is_exact = true;
    return array;
}

static struct baton_array of_model(const struct baton_spec *spec, enum baton_array_kind kind)
{
    switch (kind) {
    case BATON_ARRAY_TOKEN_EMBEDDING:
        return baton_spec_is_draft_head(spec) ? none() : matrix(spec->n_vocab, spec->n_embd);
    case BATON_ARRAY_POSITION_EMBEDDING:
        return table(spec->has_learned_positions ? spec->position_offset + spec->n_context : 0,
                     spec->n_embd);
    case BATON_ARRAY_TOKEN_TYPES:
        return table(spec->n_token_types, spec->n_embd);
    case BATON_ARRAY_EMBED_NORM:
        return norm(spec, spec->has_embed_norm);
    case BATON_ARRAY_EMBED_NORM_BIAS:
        return norm_bias(spec, spec->has_embed_norm);
    case BATON_ARRAY_PER_LAYER_TABLE:
    case BATON_ARRAY_PER_LAYER_IN:
    case BATON_ARRAY_PER_LAYER_IN_NORM:
        return per_layer_of_model(spec, kind);
    case BATON_ARRAY_FINAL_NORM:
        return norm(spec, spec->form != BATON_BLOCK_OUTER);
    case BATON_ARRAY_FINAL_NORM_BIAS:
        return norm_bias(spec, spec->form != BATON_BLOCK_OUTER);
    case BATON_ARRAY_HEAD:
        return spec->has_tied_head || baton_spec_is_draft_head(spec)
                   ? none()
                   : matrix(spec->n_vocab, spec->n_embd);
    case BATON_ARRAY_DRAFT_IN:
        return baton_spec_is_draft_head(spec) ? matrix(spec->n_embd, 2 * spec->n_embd) : none();
    case BATON_ARRAY_DRAFT_TOKEN_NORM:
    case BATON_ARRAY_DRAFT_STATE_NORM:
        return norm(spec, baton_spec_is_draft_head(spec));
    case BATON_ARRAY_HEAD_BIAS:
        return vector(spec->has_head_bias ? spec->n_vocab : 0);
    case BATON_ARRAY_POOLED_1:
        return pooled_stage(spec, 0, false);
    case BATON_ARRAY_POOLED_1_BIAS:
        return pooled_stage(spec, 0, true);
    case BATON_ARRAY_POOLED_2:
        return pooled_stage(spec, 1, false);
    case BATON_ARRAY_POOLED_2_BIAS:
        return pooled_stage(spec, 1, true);
    default:
        return none();
    }
}

/* The experts, or the heads, of a layer that have a copy of the array each. */
static int count_copies(const struct baton_spec *spec, enum baton_array_kind kind, int layer)
{
    if (kind == BATON_ARRAY_KEY_UP || kind == BATON_ARRAY_VALUE_UP)
        return spec->n_heads;
    bool is_of_experts = kind == BATON_ARRAY_UP || kind == BATON_ARRAY_UP_BIAS ||
                         kind == BATON_ARRAY_DOWN || kind == BATON_ARRAY_DOWN_BIAS;
    return spec->layers[layer].is_moe && is_of_experts ? spec->moe.n_experts : 0;
}

struct baton_array baton_array_of(const struct baton_spec *spec, enum baton_array_kind kind,
                                  int layer)
{
    bool in_layer = baton_array_is_of_layer(kind);
    struct baton_array array = in_layer ? of_layer(spec, kind, layer) : of_model(spec, kind);
    array.kind = kind;
    array.layer = in_layer ? layer : 0;
    array.has_state =
        (kind == BATON_ARRAY_QKV || kind == BATON_ARRAY_OUT) && baton_spec_has_state(spec, layer);
    array.n_experts = in_layer ? count_copies(spec, kind, layer) : 0;
    return array;
}

enum { N_LAYER_KINDS = BATON_END_LAYER_ARRAY - BATON_FIRST_LAYER_ARRAY };

int baton_n_arrays(const struct baton_spec *spec)
{
    return BATON_N_ARRAY_KINDS + (spec->n_layers - 1) * N_LAYER_KINDS;
}

struct baton_array baton_array_at(const struct baton_spec *spec, int index)
{
    int in_layers = index - BATON_FIRST_LAYER_ARRAY;
    if (in_layers < 0)
        return baton_array_of(spec, (enum baton_array_kind)index, 0);
    if (in_layers >= spec->n_layers * N_LAYER_KINDS)
        return baton_array_of(
            spec, (enum baton_array_kind)(index - (spec->n_layers - 1) * N_LAYER_KINDS), 0);
    return baton_array_of(
        spec, (enum baton_array_kind)(BATON_FIRST_LAYER_ARRAY + in_layers % N_LAYER_KINDS),
        in_layers / N_LAYER_KINDS);
}

size_t baton_spec_n_weights(const struct baton_spec *spec)
{
    size_t n = 0;
    for (int i = 0; i < baton_n_arrays(spec); i++) {
        struct baton_array array = baton_array_at(spec, i);
        n += baton_array_n_elements(&array) * (size_t)baton_array_n_copies(&array);
    }
    return n;
}
