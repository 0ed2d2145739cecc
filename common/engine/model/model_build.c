#include "common/engine/model/model_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/engine/model/arch/arch.h"
#include "common/engine/system/floats.h"

enum { LINE_BYTES = 64 };

static void *take(struct baton_model *model, size_t n_bytes)
{
    char *taken = model->slab ? model->slab + model->n_taken : NULL;
    model->n_taken += (n_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    return taken;
}

float *baton_model_take(struct baton_model *model, int n_rows, int n_columns)
{
    size_t n = (size_t)n_rows * (size_t)n_columns;
    model->n_weights += n;
    return take(model, n * sizeof(float));
}

struct baton_packed baton_model_take_packed(struct baton_model *model, int n_out, int n_in)
{
    struct baton_packed packed = {
        .dtype = model->dtype, .layout = model->kernels->layout, .n_out = n_out, .n_in = n_in};
    model->n_weights += (size_t)n_out * (size_t)n_in;
    packed.data = take(model, baton_packed_bytes(packed.dtype, packed.layout, n_out, n_in));
    return packed;
}

void baton_model_place(struct baton_model *model, char *slab)
{
    model->slab = slab;
    model->n_taken = model->n_weights = 0;
    model->arch->lay_out(model);
}

enum baton_err baton_model_allocate(struct baton_model *model, struct baton_why *why)
{
    char *slab = (char *)baton_floats_create(model->n_taken / sizeof(float));
    if (!slab)
        return baton_fail(why, BATON_NO_MEMORY, "model: no memory for %zu weights",
                          model->n_weights);
    baton_model_place(model, slab);
    return BATON_OK;
}

static bool is_auto(const char *option)
{
    return !option || !strcmp(option, "auto");
}

static enum baton_err choose_kernels(const char *name, const struct baton_kernels **kernels,
                                     struct baton_why *why)
{
    char names[128] = "auto";
    const struct baton_kernels *found =
        is_auto(name) ? baton_kernels_best() : baton_kernels_find(name);
    if (found) {
        *kernels = found;
        return BATON_OK;
    }
    for (int i = 0; (found = baton_kernels_at(i)); i++) {
        size_t n = strlen(names);
        (void)snprintf(names + n, sizeof names - n, ", %s", found->name);
    }
    return baton_fail(why, BATON_INVALID, "kernels: \"%.40s\" is none of what this CPU runs: %s",
                      name, names);
}

static enum baton_err choose(struct baton_model *model, const struct baton_model_options *options,
                             struct baton_why *why)
{
    enum baton_err err = choose_kernels(options->kernels, &model->kernels, why);
    if (err)
        return err;
    model->dtype = BATON_F32;
    if (options->dtype && is_auto(options->dtype))
        model->dtype = model->kernels->fastest;
    else if (options->dtype && !baton_dtype_parse(options->dtype, &model->dtype))
        return baton_fail(why, BATON_INVALID, "dtype: \"%.40s\" is none of auto, f32, bf16, q8",
                          options->dtype);
    if (!model->kernels->has_dtype[model->dtype])
        return baton_fail(why, BATON_INVALID, "dtype: the %s kernels do not compute in %s",
                          model->kernels->name, baton_dtype_name(model->dtype));
    return BATON_OK;
}

enum baton_err baton_model_measure(const struct baton_arch *arch,
                                   const struct baton_model_shape *shape,
                                   const struct baton_model_options *options, bool own_head,
                                   struct baton_model **model, struct baton_why *why)
{
    struct baton_model *made = calloc(1, sizeof *made);
    struct baton_layer *layers = calloc((size_t)shape->n_layers, sizeof *layers);
    if (!made || !layers) {
        free(made);
        free(layers);
        return baton_fail(why, BATON_NO_MEMORY, "model: out of memory");
    }
    made->arch = arch;
    made->shape = *shape;
    made->own_head = own_head;
    made->layers = layers;
    enum baton_err err = choose(made, options, why);
    if (err) {
        baton_model_close(made);
        return err;
    }
    baton_model_place(made, NULL);
    *model = made;
    return BATON_OK;
}
