#include "common/engine/model/tensors_load.h"

#include "common/engine/model/arch.h"

/* The table's first row is a tensor that every checkpoint has. */
bool baton_tensors_are_prefixed(const struct baton_arch *arch, const struct baton_weights *weights)
{
    const struct baton_model_tensor first = {.row = &arch->tensors[0]};
    char name[BATON_TENSOR_NAME_BYTES];
    return baton_weights_find(weights, baton_model_tensor_name(arch, &first, true, name)) != NULL;
}

static enum baton_err load_floats(struct baton_model *model,
                                  const struct baton_model_tensor *tensor,
                                  const struct baton_weights *weights, const char *name,
                                  struct baton_why *why)
{
    float *floats = *baton_model_floats(model, tensor);
    if (tensor->row->n_rows == BATON_DIM_ONE)
        return baton_weights_vector(weights, name, tensor->n_columns, floats, why);
    return baton_weights_matrix(weights, name, tensor->n_rows, tensor->n_columns, floats, why);
}

static enum baton_err list_matrix(struct baton_model *model,
                                  const struct baton_model_tensor *tensor,
                                  const struct baton_weights *weights, const char *name,
                                  struct baton_packing *packing, struct baton_why *why)
{
    struct baton_weights_source source;
    enum baton_err err = baton_weights_source(weights, name, tensor->n_rows, tensor->n_columns,
                                              tensor->row->transposed, &source, why);
    return err ? err : baton_packing_add(packing, &source, baton_model_matrix(model, tensor));
}

enum baton_err baton_tensors_load(struct baton_model *model, const struct baton_weights *weights,
                                  struct baton_packing *packing, struct baton_why *why)
{
    bool prefixed = baton_tensors_are_prefixed(model->arch, weights);
    int n = baton_model_n_tensors(model->arch, &model->shape);
    enum baton_err err = BATON_OK;
    for (int i = 0; i < n && !err; i++) {
        struct baton_model_tensor tensor = baton_model_tensor_at(model->arch, &model->shape, i);
        char name[BATON_TENSOR_NAME_BYTES];
        if (!baton_model_has(model, &tensor))
            continue;
        (void)baton_model_tensor_name(model->arch, &tensor, prefixed, name);
        err = tensor.row->kind == BATON_TENSOR_MATRIX
                  ? list_matrix(model, &tensor, weights, name, packing, why)
                  : load_floats(model, &tensor, weights, name, why);
    }
    return err;
}
