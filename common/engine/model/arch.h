/* An architecture, as a row of a table: which configurations it computes, which tensors it has, and
 * what its layers compute. The decoder (compute/decoder.h) runs all of them.
 *
 * Ownership: a table of constants.
 * Threading: pure.
 * Errors:    configure: INVALID with the field.
 */
#ifndef BATON_ENGINE_ARCH_H
#define BATON_ENGINE_ARCH_H

#include "common/checkpoint/model_config.h"
#include "common/engine/kernels/kernels.h"
#include "common/engine/model/tensors.h"

struct baton_arch {
    const char *model_type; /* as the model's config names it */

    /* Fills shape; refuses what the decoder does not compute for this architecture. */
    enum baton_err (*configure)(const struct baton_model_config *config,
                                struct baton_model_shape *shape, struct baton_why *why);

    const char *prefix;       /* of the names of tensors: "transformer." */
    const char *layer_prefix; /* after it, before a layer's number: "h." */
    const struct baton_tensor_row *tensors;
    int n_tensors; /* at most 64 */

    enum baton_norm_kind norm;        /* of all its norms */
    enum baton_activation activation; /* of its MLP */
};

extern const struct baton_arch baton_arch_gpt2;

/* NULL when unknown. */
const struct baton_arch *baton_arch_find(const char *model_type);

/* "supported: gpt2, ...", for messages. */
enum { BATON_ARCH_NAMES_BYTES = 256 };
const char *baton_arch_names(char text[BATON_ARCH_NAMES_BYTES]);

/* Which architecture computes a model of this config, and its shape. */
enum baton_err baton_arch_configure(const struct baton_model_config *config,
                                    const struct baton_arch **arch, struct baton_model_shape *shape,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* The bounds that hold for every architecture: KV heads divide the heads, no size is absurd. H x D
 * need not be C. */
enum baton_err baton_arch_check_shape(const struct baton_model_shape *shape,
                                      struct baton_why *why) BATON_MUST_CHECK;

#endif
