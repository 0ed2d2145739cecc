/* A model's tensors from a checkpoint: vectors and tables are read, matrices listed for packing.
 *
 * Ownership: arguments are borrowed; the packing borrows weights and model until it has run.
 * Threading: one owner until the model is filled.
 * Errors:    INVALID with the tensor, its shape or its dtype; NO_MEMORY.
 */
#ifndef BATON_ENGINE_TENSORS_LOAD_H
#define BATON_ENGINE_TENSORS_LOAD_H

#include "common/checkpoint/weights.h"
#include "common/engine/model/model_parts.h"
#include "common/engine/model/packing.h"

/* Whether the names of these tensors have the architecture's prefix: a checkpoint of the model
 * without its head does without. */
bool baton_tensors_are_prefixed(const struct baton_arch *arch, const struct baton_weights *weights);

/* Into a model whose arrays have memory. */
enum baton_err baton_tensors_load(struct baton_model *model, const struct baton_weights *weights,
                                  struct baton_packing *packing,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
