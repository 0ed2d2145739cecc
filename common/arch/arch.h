/* An architecture, as a row of a table: which configurations it computes, what they say of the
 * computation (spec.h), and what its checkpoints' tensors are called. The engine's decoder runs all
 * of them.
 *
 * Ownership: a table of constants.
 * Threading: pure.
 * Errors:    configure: INVALID with the field.
 */
#ifndef BATON_ARCH_ARCH_H
#define BATON_ARCH_ARCH_H

#include "common/arch/spec.h"
#include "common/arch/tensor_names.h"

struct baton_arch {
    const char *model_type; /* as the model's config names it */

    /* Fills spec; refuses what the decoder does not compute for this architecture. */
    enum baton_err (*configure)(const struct baton_model_config *config, struct baton_spec *spec,
                                struct baton_why *why);

    const struct baton_tensor_names *tensors;
};

extern const struct baton_arch baton_arch_gpt2;

/* NULL when unknown. */
const struct baton_arch *baton_arch_find(const char *model_type);

/* "supported: gpt2, ...", for messages. */
enum { BATON_ARCH_NAMES_BYTES = 256 };
const char *baton_arch_names(char text[BATON_ARCH_NAMES_BYTES]);

/* Which architecture computes a model of this config, and its spec. */
enum baton_err baton_arch_configure(const struct baton_model_config *config,
                                    const struct baton_arch **arch, struct baton_spec *spec,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* The bounds that hold for every architecture: KV heads divide the heads, no size is absurd. H x D
 * need not be C. */
enum baton_err baton_spec_check(const struct baton_spec *spec,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
