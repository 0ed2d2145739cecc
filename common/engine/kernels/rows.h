/* Products with row-major weights: what the openblas kernels are made of; private to the kernels.
 *
 * Pure; arguments are borrowed for the call.
 */
#ifndef BATON_KERNELS_ROWS_H
#define BATON_KERNELS_ROWS_H

#include "common/engine/kernels/kernels.h"

/* y [n_rows][n_out] = x [n_rows][n_in] times weights [n_out][n_in] transposed, plus bias [n_out]
 * (NULL: none); everything row-major and dense. */
struct baton_row_linear {
    const float *x, *weights, *bias;
    float *y;
    int n_rows, n_in, n_out;
    enum baton_epilogue epilogue;
};

struct baton_row_kernels {
    int dense_min_rows; /* from this many rows on OpenBLAS's GEMM is the faster one (measured) */

    /* Few rows: columns first_out..end_out-1 of y; reads each of their weights from memory once. */
    void (*linear)(const struct baton_row_linear *job, int first_out, int end_out);

    /* Bias and epilogue of those columns, when y holds the bare product (for BATON_ADD: y plus the
     * product) already. */
    void (*finish)(const struct baton_row_linear *job, int first_out, int end_out);
};

#endif
