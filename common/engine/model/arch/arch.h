/* An architecture: which configurations it computes, where its weights lie, and the parts of one layer
 * around the attention, which the engine runs for all of them (it owns the KV cache).
 *
 * A step over R rows is: embed; for each layer project, store K and V, attend, complete; logits.
 *
 * Ownership: a table of constants.
 * Threading: pure but for the forward state, which belongs to the engine thread.
 * Errors:    configure: INVALID with the field. load: INVALID with the tensor.
 */
#ifndef BATON_ENGINE_ARCH_H
#define BATON_ENGINE_ARCH_H

#include "common/checkpoint/model_config.h"
#include "common/engine/compute/forward.h"
#include "common/engine/model/model_parts.h"
#include "common/engine/model/packing.h"

struct baton_arch {
    const char *model_type; /* as the model's config names it */

    /* Fills shape; refuses what the functions below do not compute. */
    enum baton_err (*configure)(const struct baton_model_config *config,
                                struct baton_model_shape *shape, struct baton_why *why);

    /* Points every array of the model into its slab, in an order that never changes: it runs twice,
     * first to measure. */
    void (*lay_out)(struct baton_model *model);

    /* Reads vectors and tables, and lists the matrices that are to be packed. */
    enum baton_err (*load)(struct baton_model *model, const struct baton_weights *weights,
                           struct baton_packing *packing, struct baton_why *why);

    void (*embed)(struct baton_forward *forward);                 /* rows -> x */
    void (*project)(struct baton_forward *forward, int layer);    /* x -> qkv */
    void (*complete)(struct baton_forward *forward, int layer);   /* attn_out, x -> x */
    void (*logits)(struct baton_forward *forward, float *logits); /* x -> logits [n_rows][V] */
};

extern const struct baton_arch baton_arch_gpt2;

/* NULL when unknown. */
const struct baton_arch *baton_arch_find(const char *model_type);

/* "supported: gpt2", for messages. */
const char *baton_arch_names(void);

/* Which architecture computes a model of this config, and its shape. */
enum baton_err baton_arch_configure(const struct baton_model_config *config,
                                    const struct baton_arch **arch, struct baton_model_shape *shape,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* The bounds that hold for every architecture: heads divide the width, no size is absurd. */
enum baton_err baton_arch_check_shape(const struct baton_model_shape *shape,
                                      struct baton_why *why) BATON_MUST_CHECK;

#endif
