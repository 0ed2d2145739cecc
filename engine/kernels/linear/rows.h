/* Products with row-major weights, which the openblas kernels use; private to the kernels.
 *
 * Pure; arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_LINEAR_ROWS_H
#define BATON_ENGINE_KERNELS_LINEAR_ROWS_H

#include "engine/kernels/kernels.h"

struct baton_row_kernels {
    int dense_min_rows; /* from this many rows on OpenBLAS's GEMM is the faster one (measured) */

    /* Few rows: columns first_out..end_out-1 of y; reads each of their weights from memory once. */
    void (*linear)(const struct baton_linear *job, int first_out, int end_out);

    /* Bias and epilogue of those columns of rows row..row + n_rows - 1, whose bare products lie
     * `stride` floats from one row to the next. */
    void (*finish)(const struct baton_linear *job, int row, int n_rows, int first_out, int end_out,
                   const float *products, size_t stride);
};

#endif
