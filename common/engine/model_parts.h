/* What a model is made of, for the architectures and the engine only.
 *
 * Every matrix is [n_out][n_in] row-major: one layout that the few-row kernels stream through and
 * OpenBLAS reads as it is, so that there is one float copy of each weight.
 *
 * Ownership: all arrays are pieces of the model's slab.
 * Threading: immutable after open.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_MODEL_PARTS_H
#define BATON_ENGINE_MODEL_PARTS_H

#include <stdbool.h>

#include "common/engine/model.h"

struct baton_matrix {
    int n_out, n_in;
    float *weights; /* [n_out][n_in] */
    float *bias;    /* [n_out], or NULL */
};

struct baton_norm {
    float *weight, *bias; /* [C] */
};

struct baton_layer {
    struct baton_norm attention_norm, mlp_norm;
    struct baton_matrix qkv;           /* [(H + 2 G) D][C]: queries, keys, values */
    struct baton_matrix attention_out; /* [C][H D] */
    struct baton_matrix up, down;      /* [F][C], [C][F] */
};

struct baton_model {
    const struct baton_arch *arch;
    struct baton_model_shape shape;
    bool own_head;              /* lm_head.weight is stored: the head is not the token embedding */
    float *token_embedding;     /* [V][C] */
    float *position_embedding;  /* [n_context][C] */
    struct baton_layer *layers; /* [L] */
    struct baton_norm final_norm;
    struct baton_matrix head; /* [V][C] */

    float *slab;               /* NULL while it is only being measured */
    size_t n_taken, n_weights; /* floats, with and without padding */
};

/* The next [n_rows][n_columns] floats of the slab, aligned to a cache line. While the slab is
 * measured, NULL. The bounds of config.json keep every product far below SIZE_MAX. */
float *baton_model_take(struct baton_model *model, int n_rows, int n_columns);

#endif
