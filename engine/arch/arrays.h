/* The arrays that hold a model's weights: those that a spec needs, and their sizes. A checkpoint's
 * tensors fill them (tensors.h); the engine places them in memory (engine/model).
 *
 * All code that handles all weights walks this list: memory, loading, random weights and files of
 * random weights. The walk visits the arrays of a layer together, layer by layer:
 *
 *     embeddings, {norms, qkv, ..., down} of layer 0, of layer 1, ..., final norm, head
 *
 * The order of an array's rows does not depend on the checkpoint: q, k, v; gate, up; rotated pairs
 * as two halves (spec.h).
 *
 * Ownership: plain data.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_ARCH_ARRAYS_H
#define BATON_ENGINE_ARCH_ARRAYS_H

#include "engine/arch/spec.h"

enum baton_array_kind {
    BATON_ARRAY_TOKEN_EMBEDDING,    /* [V][C] */
    BATON_ARRAY_POSITION_EMBEDDING, /* [position_offset + n_context][C] */
    BATON_ARRAY_PER_LAYER_TABLE,    /* [V][L P] */
    BATON_ARRAY_PER_LAYER_IN,       /* [L P][C] */
    BATON_ARRAY_PER_LAYER_IN_NORM,  /* [P] */
    BATON_ARRAY_TOKEN_TYPES,        /* [n_token_types][C] */
    BATON_ARRAY_EMBED_NORM,         /* [C] */
    BATON_ARRAY_EMBED_NORM_BIAS,

    BATON_ARRAY_ATTN_NORM, /* [C] n1 of spec.h's forms; POST and OUTER have none */
    BATON_ARRAY_ATTN_NORM_BIAS,
    BATON_ARRAY_MLP_NORM, /* [C] PRE's n2, SANDWICH's n3, PARALLEL's n2 */
    BATON_ARRAY_MLP_NORM_BIAS,
    BATON_ARRAY_QKV, /* [(H + 2 G) D][C] queries, keys, values, and [H D] of the gate of attention's
                        result; of a layer with a state or latents its projections */
    BATON_ARRAY_QKV_BIAS,
    BATON_ARRAY_OUT, /* [C][H D] */
    BATON_ARRAY_OUT_BIAS,
    BATON_ARRAY_UP, /* [F][C]; GATED: [2 F][C], the gate's rows first */
    BATON_ARRAY_UP_BIAS,
    BATON_ARRAY_DOWN, /* [C][F] */
    BATON_ARRAY_DOWN_BIAS,
    BATON_ARRAY_ROUTER, /* [E][C], and a last row for the shared expert's gate */
    BATON_ARRAY_ROUTER_BIAS,
    BATON_ARRAY_MIXTURE_BIAS,   /* [C] added to the sum of the experts */
    BATON_ARRAY_SHARED_UP,      /* UP and DOWN of the expert that every row takes */
    BATON_ARRAY_SHARED_DOWN,    /* (those of the others are UP and DOWN themselves) */
    BATON_ARRAY_ATTN_POST_NORM, /* [C] of attention's result: SANDWICH's n2, else n1 */
    BATON_ARRAY_ATTN_POST_NORM_BIAS,
    BATON_ARRAY_MLP_POST_NORM, /* [C] of the MLP's result: n4 of SANDWICH, n2 of POST and OUTER */
    BATON_ARRAY_MLP_POST_NORM_BIAS,
    BATON_ARRAY_Q_NORM, /* [D], or [H D] by spec.qk_norm */
    BATON_ARRAY_K_NORM, /* [D], or [G D] */
    BATON_ARRAY_SINKS,  /* [H] */

    BATON_ARRAY_TAPS,       /* [n_taps][n_channels] of a state's convolution; this and the next */
    BATON_ARRAY_TAPS_BIAS,  /* [n_channels] */
    BATON_ARRAY_STATE_RATE, /* [n_heads] A, or -exp(A) */
    BATON_ARRAY_STATE_BIAS, /* [n_heads] */
    BATON_ARRAY_STATE_SKIP, /* [n_heads] D of MAMBA */
    BATON_ARRAY_STATE_NORM, /* [n_values]; MAMBA: [n_heads][n_values] */

    BATON_ARRAY_Q_RANK_NORM, /* [n_q_rank] of layers with latents (spec.h); this and the next */
    BATON_ARRAY_LATENT_NORM, /* [n_rank] */
    BATON_ARRAY_Q_UP,        /* [H n_plain + H n_turned][n_q_rank] */
    BATON_ARRAY_KEY_UP,      /* [n_rank][n_plain] of each head */
    BATON_ARRAY_VALUE_UP,    /* [n_values][n_rank] of each head */
    BATON_ARRAY_SCORE_BIAS,  /* [E] of a router */

    BATON_ARRAY_ROUTER_NORM,       /* [C]; this and the next four where experts are beside an MLP */
    BATON_ARRAY_EXPERT_SCALES,     /* [E] */
    BATON_ARRAY_EXPERTS_NORM,      /* [C] of the experts' input */
    BATON_ARRAY_EXPERTS_POST_NORM, /* [C] of their result */
    BATON_ARRAY_SHARED_POST_NORM,  /* [C] of the MLP's result */
    BATON_ARRAY_PER_LAYER_GATE,    /* [P][C] */
    BATON_ARRAY_PER_LAYER_OUT,     /* [C][P] */
    BATON_ARRAY_PER_LAYER_NORM,    /* [C] of its result */
    BATON_ARRAY_LAYER_SCALE,       /* [1] */
    BATON_ARRAY_XIELU_P,           /* [1] p = ln(1 + exp of it), the first of XIELU's numbers */
    BATON_ARRAY_XIELU_N,           /* [1] n = b + ln(1 + exp of it) */
    BATON_ARRAY_XIELU_B,           /* [1] b */
    BATON_ARRAY_XIELU_EPS,         /* [1] eps */

    BATON_ARRAY_FINAL_NORM, /* [C] */
    BATON_ARRAY_FINAL_NORM_BIAS,
    BATON_ARRAY_HEAD, /* [V][C]; none where the head is the token embedding */
    BATON_ARRAY_HEAD_BIAS,
    BATON_ARRAY_POOLED_1, /* [n_out][C] the stages of a pooled state */
    BATON_ARRAY_POOLED_1_BIAS,
    BATON_ARRAY_POOLED_2, /* [n_out][n_out of stage 1] */
    BATON_ARRAY_POOLED_2_BIAS,
    BATON_ARRAY_DRAFT_IN, /* [C][2 C] of a head that drafts: of the token, then of the state */
    BATON_ARRAY_DRAFT_TOKEN_NORM, /* [C] */
    BATON_ARRAY_DRAFT_STATE_NORM, /* [C] */

    BATON_N_ARRAY_KINDS,
    BATON_FIRST_LAYER_ARRAY = BATON_ARRAY_ATTN_NORM,
    BATON_END_LAYER_ARRAY = BATON_ARRAY_FINAL_NORM
};

/* An array of a model of some spec. */
struct baton_array {
    enum baton_array_kind kind;
    int layer; /* 0 outside of the layers */
    int n_rows,
        n_columns;  /* 0 rows: the model has no such array; a vector has rows of one column */
    int n_experts;  /* each of so many experts, or heads, has a copy; 0: it is not of such */
    int expert;     /* which of them */
    bool is_exact;  /* kept in f32 whatever the dtype of the others */
    bool is_matrix; /* multiplied with, so kernels choose its form; else kept as floats */
    bool is_mapped; /* a table, whose rows are read from the file when they are needed */
    bool is_gated;  /* rows of a gate, then as many of up; kernels read them in turn */
    bool has_state; /* QKV and OUT of a layer with a state */
    bool is_whole;  /* it is stored as it is, where norms are stored less one */
    float center;   /* random weights scatter around it: 1 for the weights of a norm */
};

static inline bool baton_array_is_of_layer(enum baton_array_kind kind)
{
    return kind >= BATON_FIRST_LAYER_ARRAY && kind < BATON_END_LAYER_ARRAY;
}

/* layer counts only for arrays of layers. The array is the first expert's. */
struct baton_array baton_array_of(const struct baton_spec *spec, enum baton_array_kind kind,
                                  int layer);

/* The number of arrays that the walk visits, absent ones included; and the index-th of them. */
int baton_n_arrays(const struct baton_spec *spec);
struct baton_array baton_array_at(const struct baton_spec *spec, int index);

/* The number of copies of an array: one, or one for each expert. */
static inline int baton_array_n_copies(const struct baton_array *array)
{
    return array->n_experts ? array->n_experts : 1;
}

/* Elements of one copy, and of all arrays together. */
static inline size_t baton_array_n_elements(const struct baton_array *array)
{
    return (size_t)array->n_rows * (size_t)array->n_columns;
}

size_t baton_spec_n_weights(const struct baton_spec *spec);

#endif
