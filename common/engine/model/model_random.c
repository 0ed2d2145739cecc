/* Models of pseudo-random weights. */
#include <stdlib.h>
#include <string.h>

#include "common/engine/model/arch.h"
#include "common/engine/model/random_weights.h"
#include "common/engine/model/storage.h"

static void fill(float *floats, size_t n, float center, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++)
        floats[i] = center + baton_random_weight(*seed, i);
    *seed += n * BATON_RANDOM_STEP;
}

static enum baton_err fill_matrix(const struct baton_packed *packed, float center, uint64_t *seed)
{
    size_t n_in = (size_t)packed->n_in;
    float *rows = calloc(BATON_PANEL * n_in, sizeof *rows);
    if (!rows)
        return BATON_NO_MEMORY;
    for (int panel = 0; panel < baton_packed_n_panels(packed); panel++) {
        int n = packed->n_out - panel * BATON_PANEL;
        n = n < BATON_PANEL ? n : BATON_PANEL;
        memset(rows, 0, BATON_PANEL * n_in * sizeof *rows);
        fill(rows, (size_t)n * n_in, center, seed);
        baton_packed_write(packed, panel, rows);
    }
    free(rows);
    return BATON_OK;
}

/* The same weights whatever they are kept in. */
static enum baton_err fill_all(struct baton_model *model, uint64_t seed)
{
    int n = baton_model_n_tensors(model->arch, &model->shape);
    enum baton_err err = BATON_OK;
    for (int i = 0; i < n && !err; i++) {
        struct baton_model_tensor tensor = baton_model_tensor_at(model->arch, &model->shape, i);
        if (!baton_model_has(model, &tensor))
            continue;
        if (tensor.row->kind == BATON_TENSOR_MATRIX)
            err = fill_matrix(baton_model_matrix(model, &tensor), tensor.row->center, &seed);
        else
            fill(*baton_model_floats(model, &tensor),
                 (size_t)tensor.n_rows * (size_t)tensor.n_columns, tensor.row->center, &seed);
    }
    return err;
}

enum baton_err baton_model_random(const struct baton_model_shape *shape, uint64_t seed,
                                  const struct baton_model_options *options,
                                  struct baton_model **model, struct baton_why *why)
{
    const struct baton_model_spec spec = {.arch = baton_arch_find("gpt2"), .shape = *shape};
    const struct baton_model_options none = {0};
    struct baton_model *made = NULL;
    enum baton_err err = baton_arch_check_shape(shape, why);
    if (!err)
        err = baton_model_measure(&spec, options ? options : &none, &made, why);
    if (!err)
        err = baton_model_allocate(made, why);
    if (!err)
        err = fill_all(made, seed);
    if (err) {
        baton_model_close(made);
        return err;
    }
    *model = made;
    return BATON_OK;
}
