/* Where a model keeps its arrays (arch/arrays.h): each slot is a member of the model or of a layer.
 *
 * Ownership: models are borrowed.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_ARRAYS_H
#define BATON_ENGINE_ARRAYS_H

#include "common/arch/arrays.h"
#include "common/engine/model/model_parts.h"

/* An array of floats' member, and a matrix's. */
float **baton_model_floats(struct baton_model *model, const struct baton_array *array);
struct baton_packed *baton_model_matrix(struct baton_model *model, const struct baton_array *array);
const struct baton_packed *baton_model_packed(const struct baton_model *model,
                                              const struct baton_array *array);

#endif
