#include "engine/arch/spec.h"

#include <math.h>

#include "common/base/array.h"

/* ---- widths ---- */

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

/* ---- bounds ---- */

static enum baton_err check_range(const char *name, int value, int max, struct baton_why *why)
{
    if (value >= 1 && value <= max)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID, "%s: must be in 1..%d, not %d", name, max, value);
}

/* Attention reads another layer's K and V with its own sizes, so these must be equal. The other
 * layer must hold its own: chains are not followed. */
static enum baton_err check_kv_from(const struct baton_spec *spec, int layer, struct baton_why *why)
{
    const struct baton_layer_spec *of = &spec->layers[layer];
    if (of->kv_from >= 0 && of->kv_from <= layer) {
        const struct baton_layer_spec *from = &spec->layers[of->kv_from];
        if (baton_spec_stores_kv(spec, of->kv_from) && from->n_kv_heads == of->n_kv_heads &&
            from->head_dim == of->head_dim && from->n_latent == of->n_latent)
            return BATON_OK;
    }
    return baton_fail(why, BATON_INVALID, "layer %d: its K and V cannot be those of layer %d",
                      layer, of->kv_from);
}

static enum baton_err check_layer(const struct baton_spec *spec, int layer, struct baton_why *why)
{
    const struct baton_layer_spec *of = &spec->layers[layer];
    enum baton_err err = check_range("KV heads", of->n_kv_heads, BATON_MAX_WIDTH, why);
    if (!err)
        err = check_range("head dimension", of->head_dim, BATON_MAX_WIDTH, why);
    if (!err && !of->is_moe && !of->has_no_ff)
        err = check_range("feed-forward width", of->n_ff, BATON_MAX_WIDTH, why);
    if (!err && (of->n_latent < 0 || of->n_latent > of->head_dim))
        return baton_fail(why, BATON_INVALID, "layer %d: values of %d are no part of keys of %d",
                          layer, of->n_latent, of->head_dim);
    if (err)
        return err;
    if ((of->mixer == BATON_MIXER_NONE && (of->has_no_ff || of->kv_from != -1)) ||
        ((of->mixer == BATON_MIXER_NONE || of->has_no_ff) && spec->form != BATON_BLOCK_PRE))
        return baton_fail(why, BATON_INVALID, "layer %d: has no part, or one of a wrong form",
                          layer);
    if ((int64_t)spec->n_heads * of->head_dim > BATON_MAX_WIDTH)
        return baton_fail(why, BATON_INVALID,
                          "num_attention_heads: %d heads of head_dim %d are wider than %d",
                          spec->n_heads, of->head_dim, BATON_MAX_WIDTH);
    if (spec->n_heads % of->n_kv_heads)
        return baton_fail(why, BATON_INVALID, "%d KV heads do not divide %d heads", of->n_kv_heads,
                          spec->n_heads);
    if (of->rope >= spec->n_ropes ||
        (of->rope >= 0 && spec->ropes[of->rope].n_rotated > of->head_dim))
        return baton_fail(why, BATON_INVALID,
                          "layer %d: its rotation does not fit heads of %d elements", layer,
                          of->head_dim);
    return of->mixer == BATON_MIXER_NONE ? BATON_OK : check_kv_from(spec, layer, why);
}

/* Whether heads of keys fit those of values; the kernels take keys by fours. */
static bool heads_fit(const struct baton_state_spec *state, bool is_short)
{
    if (is_short)
        return state->n_heads == 1 && !state->n_key_heads && !state->n_keys;
    return state->n_key_heads >= 1 && state->n_heads >= 1 &&
           state->n_heads % state->n_key_heads == 0 && state->n_keys >= 4 && state->n_keys % 4 == 0;
}

/* Whether a state of this kind has sizes that kernels take, and fits into a message. */
static bool state_fits(const struct baton_state_spec *state, bool is_short)
{
    int64_t n_columns = ((int64_t)state->n_values + BATON_STATE_COLUMNS - 1) / BATON_STATE_COLUMNS *
                        BATON_STATE_COLUMNS;
    return heads_fit(state, is_short) && state->n_taps >= 2 &&
           state->n_taps <= BATON_STATE_MAX_TAPS && state->n_values >= 1 &&
           (int64_t)state->n_heads * state->n_values <= BATON_MAX_WIDTH &&
           (int64_t)state->n_key_heads * state->n_keys <= BATON_MAX_WIDTH &&
           (int64_t)state->n_keys * state->n_values <= BATON_MAX_WIDTH &&
           (int64_t)state->n_heads * n_columns * state->n_keys +
                   (int64_t)state->n_taps * baton_state_n_channels(state) <=
               BATON_MAX_STATE;
}

/* The pool has one class of blocks beside those of all positions, and a model one kind of state. */
static enum baton_err check_state(const struct baton_spec *spec, struct baton_why *why)
{
    const struct baton_state_spec *state = &spec->state;
    int mixer = BATON_MIXER_ATTENTION;
    bool has_window = false, has_attention = false, differ = false;
    for (int i = 0; i < spec->n_layers; i++) {
        has_window |= spec->layers[i].window > 0;
        has_attention |= spec->layers[i].mixer == BATON_MIXER_ATTENTION;
        if (!baton_spec_has_state(spec, i))
            continue;
        differ |= mixer != BATON_MIXER_ATTENTION && (int)spec->layers[i].mixer != mixer;
        mixer = (int)spec->layers[i].mixer;
    }
    if (mixer == BATON_MIXER_ATTENTION)
        return BATON_OK;
    if (!has_attention)
        return baton_fail(why, BATON_INVALID,
                          "layer_types: one layer at least must have attention");
    if (has_window || differ)
        return baton_fail(why, BATON_INVALID,
                          "layers with a state beside layers with %s are not supported",
                          has_window ? "a window" : "another kind of it");
    if (!state_fits(state, mixer == BATON_MIXER_SHORT))
        return baton_fail(why, BATON_INVALID,
                          "state: %d heads of %d values, %d of %d keys and %d taps are not "
                          "supported",
                          state->n_heads, state->n_values, state->n_key_heads, state->n_keys,
                          state->n_taps);
    return BATON_OK;
}

static enum baton_err check_latent(const struct baton_spec *spec, struct baton_why *why)
{
    const struct baton_latent_spec *latent = &spec->latent;
    int64_t widest = latent->n_plain > latent->n_rank ? latent->n_plain : latent->n_rank;
    widest = latent->n_values > widest ? latent->n_values : widest;
    if (!latent->n_rank)
        return BATON_OK;
    enum baton_err err = check_range("kv_lora_rank", latent->n_rank, BATON_MAX_WIDTH, why);
    if (!err)
        err = check_range("qk_nope_head_dim", latent->n_plain, BATON_MAX_WIDTH, why);
    if (!err)
        err = check_range("qk_rope_head_dim", latent->n_turned, BATON_MAX_ROTATED, why);
    if (!err)
        err = check_range("v_head_dim", latent->n_values, BATON_MAX_WIDTH, why);
    if (!err && (widest + latent->n_turned) * spec->n_heads > BATON_MAX_WIDTH)
        return baton_fail(why, BATON_INVALID,
                          "num_attention_heads: %d heads of %lld elements are wider than %d",
                          spec->n_heads, (long long)(widest + latent->n_turned), BATON_MAX_WIDTH);
    for (int i = 0; i < spec->n_layers && !err; i++)
        if (spec->layers[i].n_latent != latent->n_rank || spec->layers[i].n_kv_heads != 1 ||
            spec->layers[i].head_dim != latent->n_rank + latent->n_turned ||
            spec->layers[i].rope < 0 || baton_spec_has_state(spec, i))
            err = baton_fail(why, BATON_INVALID, "layer %d: it has no latents, as others have", i);
    return err;
}

static bool has_mixtures(const struct baton_spec *spec)
{
    for (int i = 0; i < spec->n_layers; i++)
        if (spec->layers[i].is_moe)
            return true;
    return false;
}

/* The table has rows of L P elements, which are read as one. */
static enum baton_err check_per_layer(const struct baton_spec *spec, struct baton_why *why)
{
    int64_t width = (int64_t)spec->n_layers * spec->n_per_layer;
    if (spec->n_per_layer >= 0 && width <= BATON_MAX_WIDTH &&
        (!spec->n_per_layer || baton_spec_has_post_norms(spec)))
        return BATON_OK;
    return baton_fail(
        why, BATON_INVALID,
        "inputs of layers: %d of %d elements must be 0..%d together, in a model whose "
        "parts are normed",
        spec->n_layers, spec->n_per_layer, BATON_MAX_WIDTH);
}

static enum baton_err check_moe(const struct baton_spec *spec, struct baton_why *why)
{
    const struct baton_moe_spec *moe = &spec->moe;
    enum baton_err err = check_range("experts", moe->n_experts, BATON_MAX_EXPERTS, why);
    if (!err)
        err = check_range("experts of a token", moe->n_chosen, moe->n_experts, why);
    if (!err)
        err = check_range("experts' feed-forward width", moe->n_ff, BATON_MAX_WIDTH, why);
    if (!err && (moe->n_ff_shared < 0 || moe->n_ff_shared > BATON_MAX_WIDTH))
        return baton_fail(why, BATON_INVALID,
                          "shared expert's feed-forward width: must be in 0..%d, not %d",
                          BATON_MAX_WIDTH, moe->n_ff_shared);
    if (!err && moe->n_groups &&
        (moe->n_groups < 1 || moe->n_experts % moe->n_groups || moe->n_kept < 1 ||
         moe->n_kept > moe->n_groups))
        return baton_fail(why, BATON_INVALID, "experts: %d of %d groups of %d are not supported",
                          moe->n_kept, moe->n_groups, moe->n_experts);
    if (!err && moe->is_beside && (spec->form != BATON_BLOCK_SANDWICH || !moe->n_ff_shared))
        return baton_fail(why, BATON_INVALID, "experts beside an MLP need one, and four norms");
    return err;
}

static enum baton_err check_encoder(const struct baton_spec *spec, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (int i = 0; !err && i < spec->n_pooled_stages; i++)
        err = check_range("width of a pooled state", spec->pooled_stages[i].n_out, BATON_MAX_WIDTH,
                          why);
    return err;
}

enum baton_err baton_spec_check(const struct baton_spec *spec, struct baton_why *why)
{
    const struct {
        const char *name;
        int value, max;
    } sizes[] = {
        {"layers", spec->n_layers, BATON_MAX_LAYERS},
        {"width", spec->n_embd, BATON_MAX_WIDTH},
        {"heads", spec->n_heads, BATON_MAX_WIDTH},
        {"vocabulary", spec->n_vocab, BATON_MAX_VOCAB},
        {"context", spec->n_context, BATON_MAX_CONTEXT},
    };
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < BATON_N_OF(sizes) && !err; i++)
        err = check_range(sizes[i].name, sizes[i].value, sizes[i].max, why);
    for (int i = 0; !err && i < spec->n_layers; i++)
        err = check_layer(spec, i, why);
    if (!err)
        err = check_state(spec, why);
    if (!err)
        err = check_latent(spec, why);
    if (!err)
        err = check_per_layer(spec, why);
    if (!err && has_mixtures(spec))
        err = check_moe(spec, why);
    if (!err)
        err = check_encoder(spec, why);
    if (!err && !(spec->norm_epsilon > 0 && spec->norm_epsilon < 1))
        return baton_fail(why, BATON_INVALID, "norm epsilon: must be between 0 and 1, not %g",
                          (double)spec->norm_epsilon);
    return err;
}

/* ---- GPT-2 of any size ---- */

void baton_gpt2_spec(const struct baton_gpt2_sizes *sizes, struct baton_spec *spec)
{
    *spec = (struct baton_spec){
        .n_layers = sizes->n_layers,
        .n_embd = sizes->n_embd,
        .n_heads = sizes->n_heads,
        .n_vocab = sizes->n_vocab,
        .n_context = sizes->n_context,
        .form = BATON_BLOCK_PRE,
        .norm = BATON_LAYER_NORM,
        .norm_epsilon = 1e-5F,
        .norm_has_bias = true,
        .mlp = BATON_MLP_PLAIN,
        .activation = BATON_ACT_GELU_TANH,
        .score_scale = 1.0F / sqrtf((float)sizes->head_dim),
        .has_qkv_bias = true,
        .has_out_bias = true,
        .has_mlp_bias = true,
        .has_learned_positions = true,
        .has_tied_head = true,
        .embed_scale = 1,
        .residual_scale = 1,
        .logit_scale = 1,
    };
    for (int i = 0; i < sizes->n_layers && i < BATON_MAX_LAYERS; i++)
        spec->layers[i] = (struct baton_layer_spec){.n_kv_heads = sizes->n_kv_heads,
                                                    .head_dim = sizes->head_dim,
                                                    .n_ff = sizes->n_ff,
                                                    .rope = -1,
                                                    .kv_from = i};
}
