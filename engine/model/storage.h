/* A model's memory: one slab that holds every array, measured, allocated or mapped, and closed.
 *
 * Ownership: a measured model is the caller's, closed with baton_model_close at any stage.
 * Threading: one owner until it is filled.
 * Errors:    INVALID (options), NO_MEMORY.
 */
#ifndef BATON_ENGINE_MODEL_STORAGE_H
#define BATON_ENGINE_MODEL_STORAGE_H

#include "engine/arch/arrays.h"
#include "engine/model/layers.h"

/* The dtypes of a matrix: of ranges of its array's rows, in order and together all of them. One
 * range for experts and for gated matrices. */
struct baton_dtype_range {
    int n_rows;
    enum baton_dtype dtype;
};

struct baton_matrix_dtypes {
    int n;
    struct baton_dtype_range ranges[BATON_MATRIX_MAX_PARTS];
};

/* A rule that gives each matrix of a model its own dtypes. */
struct baton_dtype_rule {
    /* Changes *dtypes, which is the model's dtype for all rows. It is called for each matrix of the
     * model that need not be exact. The model has its kernels already. */
    void (*choose)(void *arg, const struct baton_model *model, const struct baton_array *array,
                   struct baton_matrix_dtypes *dtypes);
    void *arg;
    const char *name; /* of the model's dtype, a constant; NULL: the options' dtype, which the other
                         matrices have */
};

/* Chooses kernels and dtypes and measures every array; the model has no slab yet. rule NULL: all
 * matrices have the options' dtype. */
enum baton_err baton_model_measure(const struct baton_spec *spec,
                                   const struct baton_model_options *options,
                                   const struct baton_dtype_rule *rule, struct baton_model **model,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Points all arrays into slab, which holds n_taken bytes and is aligned to a cache line. */
void baton_model_place(struct baton_model *model, char *slab);

/* A slab of private memory, zero. */
enum baton_err baton_model_allocate(struct baton_model *model,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* A digest of each array's place in the slab and its form: models with equal digests can share a
 * slab. */
uint32_t baton_model_layout_digest(const struct baton_model *model);

/* Whether any of its matrices, or of the parts of one, has this dtype. */
bool baton_model_has_dtype(const struct baton_model *model, enum baton_dtype dtype);

#endif
