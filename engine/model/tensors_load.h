/* A model's arrays from a checkpoint's tensors: floats are read, matrices listed for packing.
 *
 * Ownership: arguments are borrowed; the packing borrows weights and model until it has run.
 * Threading: one owner until the model is filled.
 * Errors:    INVALID with the tensor and what is wrong with it; NO_MEMORY.
 */
#ifndef BATON_ENGINE_MODEL_TENSORS_LOAD_H
#define BATON_ENGINE_MODEL_TENSORS_LOAD_H

#include "engine/arch/tensors.h"
#include "engine/checkpoint/weights/weights.h"
#include "engine/model/layers.h"
#include "engine/model/packing.h"

/* The prefix of the names of this checkpoint's tensors. */
const char *baton_tensors_prefix(const struct baton_tensor_names *names,
                                 const struct baton_weights *weights);

/* Whether the checkpoint has a head of its own: some hold the token embedding again as the head. */
bool baton_tensors_have_head(const struct baton_tensor_names *names,
                             const struct baton_weights *weights);

/* Whether the checkpoint has every tensor of the model, in the right shape, and none that would
 * change the result if the model knew it. */
enum baton_err baton_tensors_check(const struct baton_spec *spec,
                                   const struct baton_tensor_names *names,
                                   const struct baton_weights *weights,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Finds the tensors that hold the rows of an array, for its copy array->expert. */
enum baton_err
baton_tensors_source(const struct baton_spec *spec, const struct baton_tensor_names *names,
                     const struct baton_weights *weights, const struct baton_array *array,
                     struct baton_weights_source *source, struct baton_why *why) BATON_MUST_CHECK;

/* Loads a model whose arrays have memory. */
enum baton_err baton_tensors_load(struct baton_model *model, const struct baton_tensor_names *names,
                                  const struct baton_weights *weights,
                                  struct baton_packing *packing,
                                  struct baton_why *why) BATON_MUST_CHECK;

#endif
