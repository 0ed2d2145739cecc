/* Factors of GGUF tensors: a product with NAME.weight is multiplied by NAME.scale, of one number or
 * of one for each expert, as llama.cpp does. Files of NVFP4 have them.
 *
 * Ownership: the caller frees what find makes; names and data stay the file's.
 * Threading: pure.
 * Errors:    INVALID with the tensor; NO_MEMORY.
 */
#ifndef BATON_ENGINE_CHECKPOINT_WEIGHTS_SCALED_H
#define BATON_ENGINE_CHECKPOINT_WEIGHTS_SCALED_H

#include "engine/checkpoint/gguf/gguf.h"
#include "engine/checkpoint/tensor.h"

/* Puts a tensor with its factors in the place of each of tensors [*n_tensors], which are sorted by
 * name, that has some beside it, and takes the factors out of the list. *scaled holds the new
 * tensors. */
enum baton_err baton_scaled_find(const struct baton_gguf *metadata,
                                 const struct baton_tensor **tensors, size_t *n_tensors,
                                 struct baton_tensor **scaled,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* The factor of the tensor's value `at`; 1 without factors. */
float baton_scaled_factor(const struct baton_tensor *tensor, size_t at);

#endif
