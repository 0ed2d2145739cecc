/* Short words for the rows of a tensor table (tensors.h), for the architectures' files only: where
 * a tensor hangs, and its shape by the letters of enum baton_dim.
 *
 *     {"ln_1.weight", IN_LAYER(attention.norm.weight), VECTOR(C), .center = 1},
 *
 * Pure.
 */
#ifndef BATON_ENGINE_TENSOR_ROWS_H
#define BATON_ENGINE_TENSOR_ROWS_H

#include <stddef.h>

#include "common/engine/model/model_parts.h"
#include "common/engine/model/tensors.h"

#define IN_TOP(member)   .scope = BATON_TENSOR_TOP, .offset = offsetof(struct baton_model, member)
#define IN_MODEL(member) .scope = BATON_TENSOR_MODEL, .offset = offsetof(struct baton_model, member)
#define IN_LAYER(member) .scope = BATON_TENSOR_LAYER, .offset = offsetof(struct baton_layer, member)
#define MATRIX(rows, columns)                                                                      \
    .kind = BATON_TENSOR_MATRIX, .n_rows = BATON_DIM_##rows, .n_columns = BATON_DIM_##columns
#define TABLE(rows, columns) .n_rows = BATON_DIM_##rows, .n_columns = BATON_DIM_##columns
#define VECTOR(n)            .n_columns = BATON_DIM_##n

/* Conv1D keeps its weights as [in][out]. */
#define CONV1D(out, in) MATRIX(out, in), .transposed = true

#endif
