/* Products with bf16 weights. */
#include "engine/kernels/linear/bf16.h"
#include "engine/kernels/variants.h"

void OF_SET(fill_bf16)(struct baton_kernels *kernels)
{
    kernels->dtypes[BATON_BF16] = (struct baton_dtype_kernels){
        .row_bytes = row_bytes_bf16, .quantize = quantize_bf16, .linear = linear_bf16};
}
