/* Norms, rotation, elementwise operations, the sampler's operations, and the quantization of rows
 * for products with native panels. */
#include "engine/kernels/native/quantize.h"
#include "engine/kernels/pack/native_panels.h"
#include "engine/kernels/variants.h"
#include "engine/kernels/vector/choose.h"
#include "engine/kernels/vector/elementwise.h"
#include "engine/kernels/vector/norm.h"
#include "engine/kernels/vector/rope.h"

static void fill_native_rows(struct baton_kernels *kernels)
{
#define NATIVE_ROWS(name, NAME, ...)                                                               \
    kernels->dtypes[BATON_##NAME].row_bytes = baton_native_row_bytes;                              \
    kernels->dtypes[BATON_##NAME].quantize = NATIVE_QUANTIZE(__VA_ARGS__);
    BATON_NATIVE_DTYPES(NATIVE_ROWS)
}

void OF_SET(fill_vectors)(struct baton_kernels *kernels)
{
    fill_native_rows(kernels);
    kernels->norm = norm;
    kernels->norm_add = norm_add;
    kernels->norm_heads = norm_heads;
    kernels->rope = rope;
    kernels->cap = cap_all;
    kernels->clamp = clamp_all;
    kernels->add_scaled = add_scaled;
    kernels->max = max_of;
    kernels->maxima = maxima;
    kernels->weigh = weigh;
    kernels->keep = keep;
}
