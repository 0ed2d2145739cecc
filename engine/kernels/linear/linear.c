#include <string.h>

#include "engine/kernels/kernels.h"

enum {
    LINE_BYTES = 64,
    GATHERED_BYTES = (512 << 10) + 4 * LINE_BYTES /* at least one row of the widest matrix */
};

/* Copies listed rows together a block at a time. A row's copy costs next to nothing beside its
 * product, and the kernels can read rows at a constant stride. */
static void multiply_listed(const struct baton_kernels *kernels, const struct baton_linear *job,
                            int first_out, int end_out)
{
    _Alignas(LINE_BYTES) char gathered[GATHERED_BYTES];
    const enum baton_dtype dtype = job->weights->dtype;
    const size_t row_bytes = baton_quantized_bytes(kernels, dtype, 1, job->weights->n_in);
    const int n_most = (int)(GATHERED_BYTES / row_bytes);
    struct baton_linear block = *job;
    block.rows = NULL;
    block.x = gathered;
    for (int row = 0; row < job->n_rows; row += block.n_rows) {
        block.n_rows = job->n_rows - row < n_most ? job->n_rows - row : n_most;
        for (int r = 0; r < block.n_rows; r++)
            memcpy(gathered + (size_t)r * row_bytes,
                   (const char *)job->x + (size_t)job->rows[row + r] * row_bytes, row_bytes);
        block.y = job->y + (size_t)row * (size_t)job->y_stride;
        kernels->dtypes[dtype].linear(&block, first_out, end_out);
    }
}

void baton_kernels_linear(const struct baton_kernels *kernels, const struct baton_linear *job,
                          int first_out, int end_out)
{
    if (job->rows)
        multiply_listed(kernels, job, first_out, end_out);
    else
        kernels->dtypes[job->weights->dtype].linear(job, first_out, end_out);
}
