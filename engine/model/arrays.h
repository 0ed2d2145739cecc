/* Where a model keeps its arrays (arch/arrays.h): each slot is a member of the model or of a layer.
 *
 * Ownership: models are borrowed.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_MODEL_ARRAYS_H
#define BATON_ENGINE_MODEL_ARRAYS_H

#include "engine/arch/arrays.h"
#include "engine/model/parts.h"

/* An array of floats' member, and a matrix's: the first copy's, whatever array->expert is. */
float **baton_model_floats(struct baton_model *model, const struct baton_array *array);
struct baton_matrix *baton_model_matrix(struct baton_model *model, const struct baton_array *array);
const struct baton_matrix *baton_model_matrix_in(const struct baton_model *model,
                                                 const struct baton_array *array);

/* Rows as kernels read them, and floats, of one copy. */
int baton_model_n_packed_rows(const struct baton_array *array);
size_t baton_model_n_floats(const struct baton_array *array);

/* The copy of array->expert: its floats, its matrix. */
float *baton_model_floats_of(struct baton_model *model, const struct baton_array *array);
struct baton_matrix baton_model_matrix_of(struct baton_model *model,
                                          const struct baton_array *array);

#endif
