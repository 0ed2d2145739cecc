/* The sizes and the sharing of single layers, from the keys of a config that only some families
 * have: heads of layers without a window, per_layer_config, layers that share K and V.
 *
 * Ownership: plain data.
 * Threading: pure.
 * Errors:    INVALID with the key, its value and the rule; *spec is then unspecified.
 */
#ifndef BATON_ENGINE_ARCH_LAYER_SIZES_H
#define BATON_ENGINE_ARCH_LAYER_SIZES_H

#include "engine/arch/spec.h"

/* Changes layers that have the model's sizes and windows already. */
enum baton_err baton_layer_sizes_set(const struct baton_model_config *config,
                                     struct baton_spec *spec,
                                     struct baton_why *why) BATON_MUST_CHECK;

#endif
