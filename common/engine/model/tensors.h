/* The tensors of an architecture as a table. A row says what a tensor is called in a checkpoint,
 * its shape, and where it hangs in the model. Whatever deals with all tensors walks this table: the
 * slab's layout, loading, random weights, and files of random weights.
 *
 * Rows stand in the order of the slab. Rows of scope LAYER are neighbours; the walk repeats them
 * for each layer:
 *
 *     wte, wpe, {ln_1, ..., mlp.c_proj} of layer 0, of layer 1, ..., ln_f, lm_head
 *
 * Ownership: rows are constants; models are borrowed.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_TENSORS_H
#define BATON_ENGINE_TENSORS_H

#include "common/engine/model/model.h"

struct baton_arch;
struct baton_packed;

/* A size, by the letters of model.h. */
enum baton_dim {
    BATON_DIM_ONE,
    BATON_DIM_C,
    BATON_DIM_F,
    BATON_DIM_V,
    BATON_DIM_POSITIONS, /* n_context */
    BATON_DIM_Q,         /* H D */
    BATON_DIM_QKV        /* (H + 2 G) D */
};

enum baton_tensor_scope {
    BATON_TENSOR_TOP,   /* its name has no prefix */
    BATON_TENSOR_MODEL, /* its name follows the architecture's prefix */
    BATON_TENSOR_LAYER  /* its name follows those of the model and the layer */
};

enum baton_tensor_kind {
    BATON_TENSOR_FLOATS, /* kept as float [rows][columns] */
    BATON_TENSOR_MATRIX  /* packed, [n_out][n_in] */
};

struct baton_tensor_row {
    const char *name; /* in a Hugging Face checkpoint */
    enum baton_tensor_scope scope;
    enum baton_tensor_kind kind;
    enum baton_dim n_rows, n_columns; /* ONE row: a vector */
    size_t offset; /* of its float * or its struct baton_packed in struct baton_layer (scope LAYER)
                        or struct baton_model */
    bool transposed; /* stored as [n_columns][n_rows] */
    bool optional;   /* a checkpoint may do without it */
    float center;    /* random weights scatter around it: 1 for the weights of a norm */
};

/* A tensor of a model of some shape. */
struct baton_model_tensor {
    const struct baton_tensor_row *row;
    int layer; /* 0 outside of the layers */
    int n_rows, n_columns;
};

/* How many tensors a model has, the optional ones included; and the index-th of them. */
int baton_model_n_tensors(const struct baton_arch *arch, const struct baton_model_shape *shape);
struct baton_model_tensor baton_model_tensor_at(const struct baton_arch *arch,
                                                const struct baton_model_shape *shape, int index);

/* Its name in a checkpoint, whose names have the architecture's prefix or do without. */
enum { BATON_TENSOR_NAME_BYTES = 128 };
const char *baton_model_tensor_name(const struct baton_arch *arch,
                                    const struct baton_model_tensor *tensor, bool prefixed,
                                    char name[BATON_TENSOR_NAME_BYTES]);

/* Where the model keeps it: an array of FLOATS, a MATRIX. */
float **baton_model_floats(struct baton_model *model, const struct baton_model_tensor *tensor);
struct baton_packed *baton_model_matrix(struct baton_model *model,
                                        const struct baton_model_tensor *tensor);
const struct baton_packed *baton_model_packed(const struct baton_model *model,
                                              const struct baton_model_tensor *tensor);

/* Whether the model's checkpoint has it. */
bool baton_model_has(const struct baton_model *model, const struct baton_model_tensor *tensor);

#endif
