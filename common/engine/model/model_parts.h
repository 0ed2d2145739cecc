/* What a model is made of, for the architectures and the engine only.
 *
 * Every matrix is packed for the kernels that will read it (kernels/packed.h), and that is its only
 * copy: a token's embedding is a row of a packed matrix, too. Vectors and tables of positions are
 * float.
 *
 * Ownership: all arrays are pieces of the model's slab.
 * Threading: immutable after open.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_MODEL_PARTS_H
#define BATON_ENGINE_MODEL_PARTS_H

#include <stdbool.h>

#include "common/engine/kernels/kernels.h"
#include "common/engine/model/model.h"
#include "common/engine/model/pack_file.h"

struct baton_matrix {
    struct baton_packed packed; /* [n_out][n_in] */
    float *bias;                /* [n_out], or NULL */
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
    enum baton_dtype dtype;
    const struct baton_kernels *kernels; /* whose layout the matrices have */
    bool own_head; /* lm_head.weight is stored: the head is not the token embedding */
    struct baton_matrix token_embedding; /* [V][C] */
    float *position_embedding;           /* [n_context][C] */
    struct baton_layer *layers;          /* [L] */
    struct baton_norm final_norm;
    struct baton_matrix head; /* [V][C] */

    char *slab;                  /* NULL while it is only being measured */
    size_t n_taken;              /* bytes of it */
    size_t n_weights;            /* elements, without padding */
    struct baton_pack_file pack; /* which the slab is the payload of; zeroed: the slab is private */
};

/* The next n floats of the slab, and the next packed matrix, aligned to a cache line. While the
 * slab is measured, data is NULL. The bounds of config.json keep every product far below SIZE_MAX.
 */
float *baton_model_take(struct baton_model *model, int n_rows, int n_columns);
struct baton_packed baton_model_take_packed(struct baton_model *model, int n_out, int n_in);

#endif
