/* The kernels' text, compiled once per instruction set: the including file defines KERNELS and
 * ROW_KERNELS (the tables' names), KERNELS_NAME, DENSE_MIN_ROWS, REG_BYTES, and the tile of the
 * products with row-major weights, in outputs and rows that fit its registers. */
#include "common/engine/kernels/attend.h"
#include "common/engine/kernels/choose.h"
#include "common/engine/kernels/linear_bf16.h"
#include "common/engine/kernels/linear_f32.h"
#include "common/engine/kernels/linear_q8.h"
#include "common/engine/kernels/linear_rows.h"
#include "common/engine/kernels/norm.h"
#include "common/engine/kernels/quantize.h"
#include "common/engine/kernels/store_kv.h"
#include "common/engine/kernels/variants.h"

static void quantize(enum baton_dtype dtype, const float *x, int n_in, int first_row, int end_row,
                     void *quantized)
{
    size_t n = (size_t)n_in, first = (size_t)first_row;
    if (dtype == BATON_BF16)
        quantize_bf16(x, n_in, first_row, end_row, quantized);
    else if (dtype == BATON_Q8)
        quantize_q8(x, n_in, first_row, end_row, quantized);
    else if (quantized != x)
        memcpy((float *)quantized + first * n, x + first * n,
               (size_t)(end_row - first_row) * n * sizeof *x);
}

static void linear(const struct baton_linear *job, int first_out, int end_out)
{
    if (job->weights->dtype == BATON_BF16)
        linear_bf16(job, first_out, end_out);
    else if (job->weights->dtype == BATON_Q8)
        linear_q8(job, first_out, end_out);
    else
        linear_f32(job, first_out, end_out);
}

const struct baton_kernels KERNELS = {
    .name = KERNELS_NAME,
    .layout = BATON_PANELS,
    .has_dtype = {true, true, true},
    .fastest = FASTEST,
    .quantize = quantize,
    .linear = linear,
    .norm = norm,
    .store_kv = store_kv,
    .attend = attend,
    .max = max_of,
    .maxima = maxima,
    .weigh = weigh,
    .keep = keep,
};

const struct baton_row_kernels ROW_KERNELS = {
    .dense_min_rows = DENSE_MIN_ROWS, .linear = linear_by_rows, .finish = finish};
