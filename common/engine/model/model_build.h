/* How a model comes to be: measured, given memory for all its arrays, filled.
 *
 * Ownership: a measured model is the caller's, closed with baton_model_close at any stage.
 * Threading: one owner until it is filled.
 * Errors:    INVALID (options), NO_MEMORY; fill: as the architecture's load.
 */
#ifndef BATON_ENGINE_MODEL_BUILD_H
#define BATON_ENGINE_MODEL_BUILD_H

#include "common/checkpoint/weights.h"
#include "common/engine/model/model_parts.h"

/* Kernels and dtype are chosen, every array is measured, but there is no slab yet. */
enum baton_err baton_model_measure(const struct baton_arch *arch,
                                   const struct baton_model_shape *shape,
                                   const struct baton_model_options *options, bool own_head,
                                   struct baton_model **model,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Points all arrays into slab, which holds n_taken bytes and is aligned to a cache line. */
void baton_model_place(struct baton_model *model, char *slab);

/* A slab of private memory, zero. */
enum baton_err baton_model_allocate(struct baton_model *model,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* A slab that holds the weights: the file of packed weights that options describe, which is made if
 * need be, else private memory. */
enum baton_err baton_model_fill(struct baton_model *model,
                                const struct baton_model_options *options,
                                const struct baton_weights *weights,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
