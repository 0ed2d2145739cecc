/* The spec of a model: all sizes and choices in which the decoder's models differ.
 *
 * An architecture (arch.h) makes a spec from a model's configuration. It contains no tensor and no
 * kernel, so a gateway can read it as well as a worker.
 *
 * Dimension letters, here and everywhere below: B sequences, T tokens in this call, P past tokens,
 * C model width, H query heads, G key/value heads, D head dimension, F feed-forward width,
 * V vocabulary, L layers, E experts.
 *
 *     x = embedding * embed_scale (+ position)
 *     e = (norm(I x C^-1/2) + table[token] P^1/2) / 2^1/2     [L][P], where n_per_layer
 *     for each layer, by form:   A attention, M feed-forward, n1.. norms, m residual_scale
 *         PRE        x += m A(n1 x);       x += m M(n2 x)
 *         SANDWICH   x += n2 A(n1 x);      x += n4 M(n3 x)
 *         POST       x += n1 A(x);         x += n2 M(x)
 *         PARALLEL   x += A(n1 x) + M(n1 x), or M(n2 x) where mlp_has_norm
 *         OUTER      x = n1(x + A(x));     x = n2(x + M(x)), and no norm after the last layer
 *         x += norm(O(act(G x) * e[layer]))     where n_per_layer
 *         x *= the layer's scale                where has_layer_scales
 *     logits = cap(head(norm x) * logit_scale)
 *
 * An encoder has no logits. Its positions see all of their text, so that a text runs in one piece,
 * and its keys and values are of no use afterwards: its layers share the blocks of the first one.
 *
 * Ownership: plain data, copied freely.
 * Threading: pure.
 * Errors:    check: INVALID with the size or the layer.
 */
#ifndef BATON_ENGINE_ARCH_SPEC_H
#define BATON_ENGINE_ARCH_SPEC_H

#include <stdbool.h>

#include "engine/checkpoint/config/model_config.h"

enum baton_block_form {
    BATON_BLOCK_PRE,
    BATON_BLOCK_SANDWICH,
    BATON_BLOCK_POST,
    BATON_BLOCK_PARALLEL,
    BATON_BLOCK_OUTER
};

/* How a row is normalised. */
enum baton_norm_kind {
    BATON_LAYER_NORM, /* (x - mean) / sqrt(variance + epsilon) * weight + bias */
    BATON_RMS_NORM    /* x / sqrt(mean(x^2) + epsilon) * weight */
};

/* g and u are the gate's and the up projection's result; PLAIN has g alone. */
enum baton_mlp_form {
    BATON_MLP_PLAIN, /* down(act(g)) */
    BATON_MLP_GATED  /* down(act(g) * u) */
};

enum baton_activation {
    BATON_ACT_GELU_TANH,
    BATON_ACT_GELU_ERF,
    BATON_ACT_SILU,
    BATON_ACT_RELU,
    BATON_ACT_RELU2,       /* relu squared */
    BATON_ACT_SWIGLU_CLIP, /* GATED only: g = min(g, 7), u = clip(u, -7..7),
                              g * sigmoid(1.702 g) * (u + 1) */
    /* PLAIN only, by numbers of the layer: p g^2 + b g above 0, n (e^min(g, eps) - 1 - g) + b g
     * below (Huang et al., "Deriving activation functions using integration", 2024) */
    BATON_ACT_XIELU
};

enum baton_qk_norm {
    BATON_QK_NORM_NONE,
    BATON_QK_NORM_HEAD,     /* over each head, one weight [D] for all heads */
    BATON_QK_NORM_OWN_HEAD, /* over each head, a weight [D] for each: [H][D] and [G][D] */
    BATON_QK_NORM_WHOLE     /* over the whole projection: [H D] and [G D] */
};

enum { BATON_MAX_ROTATED = 512, BATON_MAX_ROPES = 2 };

/* How a layer mixes its positions: what A is in the forms above. */
enum baton_mixer {
    BATON_MIXER_ATTENTION,
    BATON_MIXER_DELTA, /* a gated delta net; this and the next two keep a baton_state_spec */
    BATON_MIXER_MAMBA, /* Mamba-2 */
    BATON_MIXER_SHORT, /* a short convolution */
    BATON_MIXER_NONE   /* PRE only: the layer is its feed-forward part */
};

/* A rotary embedding: pair i (x[i], x[i + n_rotated / 2]) of a head turns by position * inverse[i];
 * sine and cosine are multiplied by attention_factor. The head's other elements stay. */
struct baton_rope_spec {
    int n_rotated; /* even, at most D */
    double attention_factor;
    double inverse[BATON_MAX_ROTATED / 2]; /* [n_rotated / 2], scaled as the config says */
};

/* The properties that may differ from layer to layer. */
struct baton_layer_spec {
    int n_kv_heads;       /* G */
    int head_dim;         /* D */
    int n_latent;         /* a row of V is the first n_latent elements of the row of K, which alone
                             is kept; 0: V has rows of its own, of D elements */
    int n_ff;             /* F of a dense layer */
    int window;           /* a position sees the last `window` positions, itself included, and an
                             encoder's as many after it; 0: all */
    int rope;             /* index of spec.ropes; -1: none */
    int kv_from;          /* the layer whose K and V it reads: itself, or an earlier one; -1: NONE,
                             which keeps nothing */
    bool is_moe;          /* its feed-forward part is a mixture of experts */
    bool has_no_ff;       /* PRE only: the layer is its mixer */
    bool values_are_keys; /* V is K's projection, before K's norm and rotation */
    enum baton_mixer mixer; /* without attention it has no use for the others but n_ff and is_moe */
};

/* The most floats that a layer keeps: they have to fit into one message (common/wire/frame.h). */
enum { BATON_MAX_STATE = (2 << 20) - 16 };

/* What the kernels take: taps, and whole columns of values. */
enum { BATON_STATE_MAX_TAPS = 4, BATON_STATE_COLUMNS = 16 };

/* Layers that keep a state of fixed size instead of K and V (engine/kernels/recurrent). Parts of a
 * row's projections go through a short convolution.
 *
 * DELTA (Yang et al., "Gated Delta Networks", 2024): q and k [n_key_heads][n_keys], v and z
 * [n_heads][n_values], b and a [n_heads], in this order. q, k and v are convolved, with silu; q and
 * k are then divided by their length, and q by n_keys^1/2. Value head h has the state S, and
 *
 *     decay = exp(-exp(A) softplus(a + bias)), write = sigmoid(b)
 *     result = norm(scan of q, k, v by the delta rule) * silu(z), where the norm is a head's
 *
 * MAMBA (Dao and Gu, "Transformers are SSMs", 2024): x [n_heads][n_values], B and C
 * [n_key_heads][n_keys], z like x, dt [n_heads]. x, B and C are convolved, with silu, and
 *
 *     write = clamp(softplus(dt + bias)), decay = exp(-exp(A) write)
 *     result = norm((scan of C, B, x + D x) * silu(z)), where the norm is a key head's
 *
 * SHORT (Liquid AI's LFM2): b, g and u [n_values], where n_heads is 1 and n_key_heads and n_keys
 * are 0: result = g * convolution of b u. */
struct baton_state_spec {
    int n_taps;      /* of the convolution */
    int n_key_heads; /* they divide n_heads */
    int n_heads;     /* of values */
    int n_keys, n_values;
    bool is_tiled;      /* value head h has key head h % n_key_heads; else h / (heads of a key) */
    bool has_log_rate;  /* the checkpoint has A; else -exp(A) */
    bool has_taps_bias; /* the convolution adds a number to each channel */
    float least_write, most_write; /* MAMBA's clamp; 0 and infinity: none */
};

/* Layers whose K and V are made of one latent row of a position (DeepSeek-AI, "DeepSeek-V2", 2024,
 * 2.1). A row's projections are its queries [H][n_plain], then [H][n_turned], or the n_q_rank
 * numbers that a norm and a second matrix make these of; then the latent [n_rank], which is normed,
 * and [n_turned] of all keys. The first parts are never rotated, the second ones are.
 *
 * Keys and values of a head are products of the latent, and so they never exist: a head's product
 * is applied to its query and to its result instead.
 *
 *     q = [key_h q_plain, q_turned];  k = [latent, k_turned];  result = value_h softmax(q.k) latent
 *
 * So a layer has one KV head with D = n_rank + n_turned, of which the first n_rank are V. */
struct baton_latent_spec {
    int n_q_rank; /* 0: queries are projected at once */
    int n_rank;   /* 0: no layer has latents, else all have */
    int n_plain, n_turned;
    int n_values; /* of a head's result */
};

struct baton_moe_spec {
    int n_experts;        /* E; 0: no layer is a mixture */
    int n_chosen;         /* experts of a row */
    int n_ff;             /* F of an expert */
    int n_ff_shared;      /* F of the expert that every row takes; 0: there is none */
    bool renormalises;    /* the chosen experts' weights sum to 1; else a softmax over all E */
    bool has_sigmoid;     /* weights are sigmoid(logit), which renormalises divides by their sum */
    bool has_score_bias;  /* of the router: it is added to scores to choose by, not to weights */
    int n_groups, n_kept; /* a row chooses among the experts of n_kept of n_groups groups; 0: all */
    bool sums_pairs;      /* a group is as good as its two best experts together; else its best */
    float scale;          /* of the weights; 0: none */
    bool has_no_biases;   /* of the experts, where the dense layers have them */
    bool has_one_bias;    /* it is added to the sum of the experts' results */
    bool has_shared_gate; /* the shared expert's result is multiplied by sigmoid(gate x) */
    /* SANDWICH only: the shared expert, which reads n3 x, and the others, which read a norm of
     * their own, have norms of their results. The router reads x by a third norm times C^-1/2, and
     * the weight of an expert's result is multiplied by the expert's scale. */
    bool is_beside;
};

struct baton_spec {
    int n_layers;  /* L */
    int n_embd;    /* C */
    int n_heads;   /* H; H D need not be C */
    int n_vocab;   /* V */
    int n_context; /* positions that are served, prompt and output together; with learned positions
                      all that the model has */

    enum baton_block_form form;
    bool mlp_has_norm; /* PARALLEL: the feed-forward part has a norm of its own */
    enum baton_norm_kind norm;
    float norm_epsilon;
    bool norm_has_bias;

    enum baton_mlp_form mlp;
    enum baton_activation activation;

    enum baton_qk_norm qk_norm; /* of this spec's norm kind, before the rotation */
    bool norms_turned;          /* qk_norm comes after the rotation */
    bool norms_values;          /* v of each head is normed, without a weight */
    float score_scale;          /* of the scores, before cap and softmax */
    float score_cap;            /* s = cap tanh(s / cap); 0: none */
    float clip_qkv;             /* q, k, v are clamped to +-clip; 0: none */
    bool has_sinks;             /* one logit per head joins the softmax's denominator */
    bool has_q_scaling;         /* q *= 1 + beta ln(1 + floor(position / period)) */
    float q_scaling_beta;
    int q_scaling_period;
    bool rotates_pairs; /* checkpoints hold pairs side by side (x[2i], x[2i + 1]); loading reorders
                           the rows of Q and K, so that kernels need one order only */

    bool has_qkv_bias, has_out_bias, has_mlp_bias, has_head_bias, has_router_bias;
    bool has_learned_positions;
    int position_offset; /* rows of the table of positions before that of position 0 */
    int n_token_types;   /* rows of the table that tells the parts of a pair apart; 0: none */
    bool has_embed_norm; /* the sum of a row's embeddings is normed */
    bool is_encoder;     /* a position sees the whole text */
    bool has_tied_head;  /* unless the checkpoint has a head's tensor */

    int n_per_layer; /* P, the width of a token's input to each layer; 0: there is none */
    bool has_layer_scales;
    float embed_scale, residual_scale, logit_scale; /* 1: none */
    float logit_cap;                                /* 0: none */

    bool has_out_gate; /* attention's result is multiplied by sigmoid of a projection */

    struct baton_moe_spec moe;
    struct baton_latent_spec latent;
    struct baton_state_spec state;
    int n_pooled_stages;
    struct baton_pooled_stage pooled_stages[BATON_MAX_POOLED_STAGES];
    int n_ropes;
    struct baton_rope_spec ropes[BATON_MAX_ROPES];
    struct baton_layer_spec layers[BATON_MAX_LAYERS]; /* [L] */
};

/* Whether a layer keeps a state instead of K and V. */
static inline bool baton_spec_has_state(const struct baton_spec *spec, int layer)
{
    return spec->layers[layer].mixer != BATON_MIXER_ATTENTION &&
           spec->layers[layer].mixer != BATON_MIXER_NONE;
}

/* Channels of the convolution, of which a SHORT one's have neither q nor k. */
static inline int baton_state_n_channels(const struct baton_state_spec *state)
{
    return 2 * state->n_key_heads * state->n_keys + state->n_heads * state->n_values;
}

static inline int baton_state_width(const struct baton_state_spec *state)
{
    return state->n_heads * state->n_values;
}

/* Floats of a row in a layer: all query heads, or the values of a layer with a state; all KV heads;
 * all projections of a row together. */
static inline int baton_spec_q_width(const struct baton_spec *spec, int layer)
{
    if (spec->latent.n_rank)
        return spec->n_heads * spec->latent.n_values;
    if (spec->layers[layer].mixer == BATON_MIXER_NONE)
        return 0;
    return baton_spec_has_state(spec, layer) ? baton_state_width(&spec->state)
                                             : spec->n_heads * spec->layers[layer].head_dim;
}

/* Floats of a row's queries before their products with keys, of all heads. */
static inline int baton_latent_q_width(const struct baton_spec *spec)
{
    return spec->n_heads * (spec->latent.n_plain + spec->latent.n_turned);
}

/* Floats of a row's queries as attention reads them, and of its result before values are made;
 * 0: no layer has latents. */
static inline int baton_latent_query_width(const struct baton_spec *spec)
{
    return spec->latent.n_rank ? spec->n_heads * (spec->latent.n_rank + spec->latent.n_turned) : 0;
}

static inline int baton_latent_result_width(const struct baton_spec *spec)
{
    return spec->n_heads * spec->latent.n_rank;
}

static inline int baton_spec_kv_width(const struct baton_spec *spec, int layer)
{
    return spec->layers[layer].n_kv_heads * spec->layers[layer].head_dim;
}

/* Numbers that a layer keeps of a position: K, and V unless it is a part of K. */
static inline int baton_spec_kept_width(const struct baton_spec *spec, int layer)
{
    return (spec->layers[layer].n_latent ? 1 : 2) * baton_spec_kv_width(spec, layer);
}

/* Whether there are norms after attention and the MLP, and before them. */
static inline bool baton_spec_has_post_norms(const struct baton_spec *spec)
{
    return spec->form == BATON_BLOCK_POST || spec->form == BATON_BLOCK_SANDWICH ||
           spec->form == BATON_BLOCK_OUTER;
}

static inline bool baton_spec_has_pre_norms(const struct baton_spec *spec)
{
    return spec->form != BATON_BLOCK_POST && spec->form != BATON_BLOCK_OUTER;
}

/* The layer whose blocks hold the K and V that a layer reads. */
static inline int baton_spec_kv_layer(const struct baton_spec *spec, int layer)
{
    return spec->is_encoder ? 0 : spec->layers[layer].kv_from;
}

/* Whether a layer keeps something of a context: K and V of its own, or a state. */
static inline bool baton_spec_stores_kv(const struct baton_spec *spec, int layer)
{
    return spec->layers[layer].kv_from == layer;
}

static inline int baton_spec_qkv_width(const struct baton_spec *spec, int layer)
{
    const struct baton_state_spec *state = &spec->state;
    int n_kv = baton_spec_stores_kv(spec, layer) ? baton_spec_kv_width(spec, layer) : 0;
    int n_q = baton_spec_q_width(spec, layer);
    if (spec->latent.n_rank)
        return (spec->latent.n_q_rank ? spec->latent.n_q_rank : baton_latent_q_width(spec)) + n_kv;
    switch (spec->layers[layer].mixer) {
    case BATON_MIXER_DELTA:
        return baton_state_n_channels(state) + n_q + 2 * state->n_heads;
    case BATON_MIXER_MAMBA:
        return baton_state_n_channels(state) + n_q + state->n_heads;
    case BATON_MIXER_SHORT:
        return 3 * n_q;
    case BATON_MIXER_NONE:
        return 0;
    case BATON_MIXER_ATTENTION:
        break;
    }
    return (spec->has_out_gate ? 2 : 1) * n_q +
           (spec->layers[layer].values_are_keys ? 1 : 2) * n_kv;
}

/* Floats of a token's inputs to all layers. */
static inline int baton_spec_per_layer_width(const struct baton_spec *spec)
{
    return spec->n_layers * spec->n_per_layer;
}

/* The widths of the widest layer; n_ff includes a shared expert's. */
int baton_spec_most_q_width(const struct baton_spec *spec);
int baton_spec_most_qkv_width(const struct baton_spec *spec);
int baton_spec_most_n_ff(const struct baton_spec *spec);

/* Values of an embedding, or scores of a pair. */
static inline int baton_spec_n_pooled(const struct baton_spec *spec)
{
    return spec->n_pooled_stages ? spec->pooled_stages[spec->n_pooled_stages - 1].n_out
                                 : spec->n_embd;
}

/* The bounds that hold for every architecture: KV heads divide the heads, a layer reads K and V of
 * its own sizes, no size is absurd. H x D need not be C. */
enum baton_err baton_spec_check(const struct baton_spec *spec,
                                struct baton_why *why) BATON_MUST_CHECK;

/* GPT-2's computation at any sizes, for benchmarks and tests. GPT-2's own have n_kv_heads = n_heads
 * and n_heads * head_dim = n_embd; the computation needs neither. */
struct baton_gpt2_sizes {
    int n_layers, n_embd, n_heads, n_kv_heads, head_dim, n_ff, n_vocab, n_context;
};

void baton_gpt2_spec(const struct baton_gpt2_sizes *sizes, struct baton_spec *spec);

#endif
