/* The source of a model's slab: a file of packed weights that all workers of the host map, or
 * private memory.
 *
 * Ownership: the model owns the mapping or the memory; weights and options are borrowed.
 * Threading: one owner until it is filled.
 * Errors:    those of baton_tensors_load, NO_MEMORY. A file that cannot be used or made is logged,
 *            and private memory serves instead.
 */
#ifndef BATON_ENGINE_MODEL_PACK_H
#define BATON_ENGINE_MODEL_PACK_H

#include "engine/arch/tensors.h"
#include "engine/checkpoint/weights/weights.h"
#include "engine/model/layers.h"

/* Fills a measured model: from the file that options describe, which is made if need be, else into
 * private memory. */
enum baton_err baton_model_fill(struct baton_model *model, const struct baton_tensor_names *names,
                                const struct baton_model_options *options,
                                const struct baton_weights *weights,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
