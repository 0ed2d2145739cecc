#include "common/engine/model/tensors.h"

#include <stdio.h>

#include "common/engine/model/arch.h"
#include "common/engine/model/model_parts.h"

static int size_of(enum baton_dim dim, const struct baton_model_shape *shape)
{
    switch (dim) {
    case BATON_DIM_C:
        return shape->n_embd;
    case BATON_DIM_F:
        return shape->n_ff;
    case BATON_DIM_V:
        return shape->n_vocab;
    case BATON_DIM_POSITIONS:
        return shape->n_context;
    case BATON_DIM_Q:
        return baton_shape_q_width(shape);
    case BATON_DIM_QKV:
        return baton_shape_qkv_width(shape);
    case BATON_DIM_ONE:
        break;
    }
    return 1;
}

/* The rows that are repeated for each layer. */
static int first_layer_row(const struct baton_arch *arch)
{
    int row = 0;
    while (row < arch->n_tensors && arch->tensors[row].scope != BATON_TENSOR_LAYER)
        row++;
    return row;
}

static int count_layer_rows(const struct baton_arch *arch, int first)
{
    int row = first;
    while (row < arch->n_tensors && arch->tensors[row].scope == BATON_TENSOR_LAYER)
        row++;
    return row - first;
}

int baton_model_n_tensors(const struct baton_arch *arch, const struct baton_model_shape *shape)
{
    return arch->n_tensors + (shape->n_layers - 1) * count_layer_rows(arch, first_layer_row(arch));
}

struct baton_model_tensor baton_model_tensor_at(const struct baton_arch *arch,
                                                const struct baton_model_shape *shape, int index)
{
    int first = first_layer_row(arch), n = count_layer_rows(arch, first);
    int row = index, layer = 0;
    if (index >= first + shape->n_layers * n) {
        row = index - (shape->n_layers - 1) * n;
    } else if (index >= first) {
        row = first + (index - first) % n;
        layer = (index - first) / n;
    }
    const struct baton_tensor_row *found = &arch->tensors[row];
    return (struct baton_model_tensor){.row = found,
                                       .layer = layer,
                                       .n_rows = size_of(found->n_rows, shape),
                                       .n_columns = size_of(found->n_columns, shape)};
}

const char *baton_model_tensor_name(const struct baton_arch *arch,
                                    const struct baton_model_tensor *tensor, bool prefixed,
                                    char name[BATON_TENSOR_NAME_BYTES])
{
    const struct baton_tensor_row *row = tensor->row;
    const char *prefix = prefixed && row->scope != BATON_TENSOR_TOP ? arch->prefix : "";
    if (row->scope == BATON_TENSOR_LAYER)
        (void)snprintf(name, BATON_TENSOR_NAME_BYTES, "%s%s%d.%s", prefix, arch->layer_prefix,
                       tensor->layer, row->name);
    else
        (void)snprintf(name, BATON_TENSOR_NAME_BYTES, "%s%s", prefix, row->name);
    return name;
}

static void *member_of(struct baton_model *model, const struct baton_model_tensor *tensor)
{
    char *base = tensor->row->scope == BATON_TENSOR_LAYER ? (char *)&model->layers[tensor->layer]
                                                          : (char *)model;
    return base + tensor->row->offset;
}

float **baton_model_floats(struct baton_model *model, const struct baton_model_tensor *tensor)
{
    return member_of(model, tensor);
}

struct baton_packed *baton_model_matrix(struct baton_model *model,
                                        const struct baton_model_tensor *tensor)
{
    return member_of(model, tensor);
}

const struct baton_packed *baton_model_packed(const struct baton_model *model,
                                              const struct baton_model_tensor *tensor)
{
    return member_of((struct baton_model *)model, tensor); /* which is only read through it */
}

bool baton_model_has(const struct baton_model *model, const struct baton_model_tensor *tensor)
{
    return !tensor->row->optional || model->optional >> (tensor->row - model->arch->tensors) & 1;
}
