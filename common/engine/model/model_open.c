#include <stdlib.h>

#include "common/checkpoint/checkpoint.h"
#include "common/engine/model/arch.h"
#include "common/engine/model/model_pack.h"
#include "common/engine/model/storage.h"
#include "common/engine/model/tensors_load.h"

static enum baton_err configure(const struct baton_checkpoint *checkpoint,
                                const struct baton_arch **arch, struct baton_model_shape *shape,
                                struct baton_why *why)
{
    struct baton_why reason;
    enum baton_err err = baton_arch_configure(&checkpoint->config, arch, shape, &reason);
    if (err)
        (void)baton_fail(why, err, "%s: %s", checkpoint->config_path, reason.text);
    return err;
}

enum baton_err baton_model_shape_of(const struct baton_checkpoint *checkpoint,
                                    struct baton_model_shape *shape, struct baton_why *why)
{
    const struct baton_arch *arch;
    return configure(checkpoint, &arch, shape, why);
}

/* Which of the optional tensors there are: those of a layer are in all layers or in none. */
static uint64_t find_optional(const struct baton_arch *arch, const struct baton_weights *weights)
{
    bool prefixed = baton_tensors_are_prefixed(arch, weights);
    char name[BATON_TENSOR_NAME_BYTES];
    uint64_t found = 0;
    for (int row = 0; row < arch->n_tensors; row++) {
        const struct baton_model_tensor tensor = {.row = &arch->tensors[row]};
        (void)baton_model_tensor_name(arch, &tensor, prefixed, name);
        if (arch->tensors[row].optional && baton_weights_find(weights, name))
            found |= UINT64_C(1) << row;
    }
    return found;
}

static const char *head_name(const struct baton_arch *arch)
{
    int row = 0;
    while (arch->tensors[row].offset != offsetof(struct baton_model, head.packed))
        row++;
    return arch->tensors[row].name;
}

static enum baton_err load(const struct baton_model_spec *spec, bool tied_head,
                           const struct baton_model_options *options,
                           const struct baton_weights *weights, struct baton_model **model,
                           struct baton_why *why)
{
    struct baton_model *made = NULL;
    enum baton_err err = baton_model_measure(spec, options, &made, why);
    if (err)
        return err;
    if (made->has_tied_head && !tied_head)
        err = baton_fail(why, BATON_INVALID, "tensor %s is missing", head_name(made->arch));
    /* Before memory is asked for in a size that only config.json vouches for. */
    else if (made->n_weights > baton_weights_n_elements(weights))
        err =
            baton_fail(why, BATON_INVALID, "config.json describes %zu weights, the files hold %zu",
                       made->n_weights, baton_weights_n_elements(weights));
    if (!err)
        err = baton_model_fill(made, options, weights, why);
    if (err)
        baton_model_close(made);
    else
        *model = made;
    return err;
}

enum baton_err baton_model_load(const struct baton_checkpoint *checkpoint,
                                const struct baton_model_options *options,
                                struct baton_model **model, struct baton_why *why)
{
    const struct baton_model_options none = {0};
    struct baton_model_spec spec = {0};
    struct baton_weights *weights = NULL;
    struct baton_why reason;
    enum baton_err err = configure(checkpoint, &spec.arch, &spec.shape, why);
    if (!err)
        err = baton_checkpoint_weights(checkpoint, &weights, why);
    if (err)
        return err;
    spec.optional = find_optional(spec.arch, weights);
    err = load(&spec, checkpoint->config.tied_head, options ? options : &none, weights, model,
               &reason);
    if (err)
        (void)baton_fail(why, err, "%s: %s", checkpoint->path, reason.text);
    baton_weights_close(weights);
    return err;
}

enum baton_err baton_model_open(const char *path, const struct baton_model_options *options,
                                struct baton_model **model, struct baton_why *why)
{
    struct baton_checkpoint *checkpoint = NULL;
    enum baton_err err = baton_checkpoint_open(path, &checkpoint, why);
    if (!err)
        err = baton_model_load(checkpoint, options, model, why);
    baton_checkpoint_close(checkpoint);
    return err;
}
