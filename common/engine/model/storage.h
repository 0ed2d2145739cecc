/* A model's memory: one slab that holds every array, measured, allocated or mapped, and closed.
 *
 * Ownership: a measured model is the caller's, closed with baton_model_close at any stage.
 * Threading: one owner until it is filled.
 * Errors:    INVALID (options), NO_MEMORY.
 */
#ifndef BATON_ENGINE_STORAGE_H
#define BATON_ENGINE_STORAGE_H

#include "common/engine/model/model_parts.h"

/* Kernels and dtype are chosen, every array is measured, but there is no slab yet. */
enum baton_err baton_model_measure(const struct baton_spec *spec,
                                   const struct baton_model_options *options,
                                   struct baton_model **model,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Points all arrays into slab, which holds n_taken bytes and is aligned to a cache line. */
void baton_model_place(struct baton_model *model, char *slab);

/* A slab of private memory, zero. */
enum baton_err baton_model_allocate(struct baton_model *model,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* Stands for where each array is in the slab, and as what: models with the same one can share a
 * slab. */
uint32_t baton_model_layout_digest(const struct baton_model *model);

#endif
