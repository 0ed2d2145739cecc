#include <stdlib.h>

#include "common/checkpoint/checkpoint.h"
#include "common/engine/model/arch/arch.h"
#include "common/engine/model/model_build.h"

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

static enum baton_err load(const struct baton_arch *arch, const struct baton_model_shape *shape,
                           bool tied_head, const struct baton_model_options *options,
                           const struct baton_weights *weights, struct baton_model **model,
                           struct baton_why *why)
{
    struct baton_model *made = NULL;
    bool own_head = baton_weights_find(weights, "lm_head.weight") != NULL;
    if (!own_head && !tied_head)
        return baton_fail(why, BATON_INVALID, "tensor lm_head.weight is missing");
    enum baton_err err = baton_model_measure(arch, shape, options, own_head, &made, why);
    if (err)
        return err;
    /* Before memory is asked for in a size that only config.json vouches for. */
    if (made->n_weights > baton_weights_n_elements(weights))
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
    const struct baton_arch *arch = NULL;
    struct baton_model_shape shape;
    struct baton_weights *weights = NULL;
    struct baton_why reason;
    enum baton_err err = configure(checkpoint, &arch, &shape, why);
    if (!err)
        err = baton_checkpoint_weights(checkpoint, &weights, why);
    if (err)
        return err;
    err = load(arch, &shape, checkpoint->config.tied_head, options ? options : &none, weights,
               model, &reason);
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

void baton_model_close(struct baton_model *model)
{
    if (!model)
        return;
    if (model->pack.payload)
        baton_pack_file_unmap(&model->pack);
    else
        free(model->slab);
    free(model->layers);
    free(model);
}

const struct baton_model_shape *baton_model_shape(const struct baton_model *model)
{
    return &model->shape;
}

struct baton_kv_layout baton_model_kv_layout(const struct baton_model *model)
{
    return (struct baton_kv_layout){.n_layers = model->shape.n_layers,
                                    .n_kv_heads = model->shape.n_kv_heads,
                                    .head_dim = model->shape.head_dim,
                                    .auto_dtype = model->dtype == BATON_F32 ? "f32" : "f16"};
}

static size_t layer_bytes(const struct baton_layer *layer)
{
    return baton_packed_read_bytes(&layer->qkv.packed) +
           baton_packed_read_bytes(&layer->attention_out.packed) +
           baton_packed_read_bytes(&layer->up.packed) +
           baton_packed_read_bytes(&layer->down.packed);
}

size_t baton_model_step_bytes(const struct baton_model *model)
{
    size_t n = baton_packed_read_bytes(&model->head.packed); /* of embeddings a row is read */
    for (int i = 0; i < model->shape.n_layers; i++)
        n += layer_bytes(&model->layers[i]);
    return n;
}

const char *baton_model_dtype(const struct baton_model *model)
{
    return baton_dtype_name(model->dtype);
}

const char *baton_model_kernels(const struct baton_model *model)
{
    return model->kernels->name;
}
