/* The table of architectures, and what makes a spec from one of its rows. For arch.c.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_ARCH_FAMILIES_H
#define BATON_ENGINE_ARCH_FAMILIES_H

#include "engine/arch/arch.h"

extern const struct baton_arch baton_families[];
extern const int baton_n_families;

/* *spec is unspecified on failure. */
enum baton_err baton_arch_make_spec(const struct baton_arch *arch,
                                    const struct baton_model_config *config, int n_context,
                                    struct baton_spec *spec,
                                    struct baton_why *why) BATON_MUST_CHECK;

#endif
