/* Products with q8 weights. */
#include "engine/kernels/linear/q8.h"
#include "engine/kernels/variants.h"

void OF_SET(fill_q8)(struct baton_kernels *kernels)
{
    kernels->dtypes[BATON_Q8] = (struct baton_dtype_kernels){
        .row_bytes = row_bytes_q8, .quantize = quantize_q8, .linear = linear_q8};
}
