/* Products in f32: with panels of f32, with panels of f16, which is converted as it is loaded, and
 * with row-major f32. */
#include "engine/kernels/linear/f32.h"
#include "engine/kernels/linear/row_major.h"
#include "engine/kernels/variants.h"

void OF_SET(fill_floats)(struct baton_kernels *kernels)
{
    kernels->dtypes[BATON_F32] = (struct baton_dtype_kernels){
        .row_bytes = row_bytes_f32, .quantize = copy_rows, .copies = true, .linear = linear_f32};
    kernels->dtypes[BATON_F16] = kernels->dtypes[BATON_F32];
    kernels->dtypes[BATON_F16].linear = linear_f16;
}

const struct baton_row_kernels OF_SET(row_kernels) = {
    .dense_min_rows = DENSE_MIN_ROWS, .linear = linear_by_rows, .finish = finish};
