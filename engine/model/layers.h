/* A model in memory: its layers, which are made of matrices and norms, and the member that keeps
 * each array of weights (arch/arrays.h).
 *
 * Every matrix is packed for the kernels that will read it (pack/packed.h), and that is its only
 * copy: even a token's embedding is a row of a packed matrix. Each has a dtype of its own. Vectors
 * and tables of positions are float.
 *
 * Ownership: all arrays are pieces of the model's slab.
 * Threading: immutable after open.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_MODEL_LAYERS_H
#define BATON_ENGINE_MODEL_LAYERS_H

#include <stdbool.h>

#include "engine/arch/arrays.h"
#include "engine/kernels/kernels.h"
#include "engine/model/matrix.h"
#include "engine/model/model.h"
#include "engine/model/pack_file.h"
#include "engine/model/row_table.h"

struct baton_norm {
    enum baton_norm_kind kind;
    float epsilon;
    float *weight, *bias; /* [C]; bias may be NULL */
};

/* Weights that the model's form does not have are NULL: norms, sinks, biases. */
struct baton_attention {
    struct baton_norm norm;      /* of its input */
    struct baton_norm post_norm; /* of its result */
    struct baton_matrix qkv;     /* [(H + 2 G) D][C]: queries, keys, values */
    struct baton_matrix out;     /* [C][H D] */
    float *q_norm, *k_norm;      /* of heads, or of all of them together (spec.qk_norm) */
    float *sinks;                /* [H] */

    /* of a layer with a state (spec.h); qkv and out are its projections */
    float *taps; /* [n_taps][n_channels] */
    float *taps_bias, *state_rate, *state_bias, *state_skip, *state_norm;

    /* of a layer with latents (spec.h); qkv is its projections */
    float *q_rank_norm, *latent_norm;
    struct baton_matrix q_up, key_up, value_up; /* the last two: those of the first head */
};

struct baton_mlp {
    struct baton_norm norm;       /* of its input */
    struct baton_norm post_norm;  /* of its result */
    struct baton_matrix up, down; /* [F][C], [C][F]; a mixture's: of each of E experts */
    struct baton_matrix router;   /* a mixture's, [E][C]; last comes the shared expert's gate */
    float *mixture_bias;          /* a mixture's, [C], or NULL */
    float *score_bias;            /* a mixture's, [E], or NULL */
    struct baton_matrix shared_up, shared_down; /* of the expert that every row takes */
    /* Experts beside an MLP, which is then the shared expert (spec.h): */
    struct baton_norm router_norm, experts_norm, experts_post_norm, shared_post_norm;
    float *expert_scales; /* [E] */
    float *xielu[4];      /* the numbers of BATON_ACT_XIELU as they are stored, [1] each */
};

/* What a layer does with a token's input to it (compute/per_layer.h). */
struct baton_per_layer {
    struct baton_matrix gate, out; /* [P][C], [C][P] */
    struct baton_norm norm;        /* of its result */
};

struct baton_layer {
    struct baton_attention attention;
    struct baton_mlp mlp;
    struct baton_per_layer per_layer;
    float *scale; /* [1] of its result; NULL: none */
};

struct baton_arch;

struct baton_model {
    struct baton_spec spec;
    const struct baton_arch *arch; /* the names of its tensors; NULL for random weights */
    struct baton_model_info info;
    enum baton_dtype dtype;              /* of its matrices, unless a rule chooses another */
    const struct baton_kernels *kernels; /* their layout is that of the matrices */

    struct baton_matrix token_embedding;    /* [V][C] */
    float *position_embedding;              /* [position_offset + n_context][C], or NULL */
    float *token_types;                     /* [n_token_types][C], or NULL */
    struct baton_norm embed_norm;           /* its weight is NULL where there is none */
    struct baton_row_table per_layer_table; /* [V][L P] */
    struct baton_matrix per_layer_in;       /* [L P][C] */
    float *per_layer_in_norm;               /* [P] */
    struct baton_layer *layers;             /* [L] */
    struct baton_norm final_norm;
    struct baton_matrix head; /* [V][C]; the token embedding if spec.has_tied_head */
    struct baton_matrix pooled_stages[BATON_MAX_POOLED_STAGES];
    struct baton_matrix draft_in; /* of a head that drafts; this and the next */
    struct baton_norm draft_token_norm, draft_state_norm;

    char *slab;                  /* NULL while it is only being measured */
    size_t n_taken;              /* bytes of it */
    struct baton_pack_file pack; /* its payload is the slab; zeroed: the slab is private */
};

/* The member of an array of floats, and of a matrix: the first copy's, whatever array->expert
 * is. */
float **baton_model_floats(struct baton_model *model, const struct baton_array *array);
struct baton_matrix *baton_model_matrix(struct baton_model *model, const struct baton_array *array);
const struct baton_matrix *baton_model_matrix_in(const struct baton_model *model,
                                                 const struct baton_array *array);

/* The rows as kernels read them, and the floats, of one copy. */
int baton_model_n_packed_rows(const struct baton_array *array);
size_t baton_model_n_floats(const struct baton_array *array);

/* The copy of array->expert: its floats, its matrix. */
float *baton_model_floats_of(struct baton_model *model, const struct baton_array *array);
struct baton_matrix baton_model_matrix_of(struct baton_model *model,
                                          const struct baton_array *array);

#endif
