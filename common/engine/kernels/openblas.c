#include <cblas.h>

#include "common/engine/kernels/variants.h"

static const struct baton_row_kernels *row_kernels; /* set once, before linear is reachable */

static void multiply(const struct baton_row_linear *job, int first_out, int end_out)
{
    const float *weights = job->weights + (size_t)first_out * (size_t)job->n_in;
    float keep = job->epilogue == BATON_ADD ? 1.0F : 0.0F;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, job->n_rows, end_out - first_out,
                job->n_in, 1.0F, job->x, job->n_in, weights, job->n_in, keep, job->y + first_out,
                job->n_out);
    row_kernels->finish(job, first_out, end_out);
}

static void linear(const struct baton_linear *packed, int first_out, int end_out)
{
    const struct baton_row_linear job = {.x = packed->x,
                                         .weights = packed->weights->data,
                                         .bias = packed->bias,
                                         .y = packed->y,
                                         .n_rows = packed->n_rows,
                                         .n_in = packed->weights->n_in,
                                         .n_out = packed->weights->n_out,
                                         .epilogue = packed->epilogue};
    if (job.n_rows >= row_kernels->dense_min_rows)
        multiply(&job, first_out, end_out);
    else
        row_kernels->linear(&job, first_out, end_out);
}

void baton_openblas_fill(struct baton_kernels *kernels, const struct baton_kernels *best,
                         const struct baton_row_kernels *rows)
{
    /* Each compute thread calls with its own columns: OpenBLAS's own threads would spin on the
     * cores that the pool is about to use. */
    openblas_set_num_threads(1);
    row_kernels = rows;
    *kernels = *best;
    kernels->name = "openblas";
    kernels->layout = BATON_ROWS;
    for (int i = 0; i < BATON_N_DTYPES; i++)
        if (i != BATON_F32)
            kernels->dtypes[i] = (struct baton_dtype_kernels){0};
    kernels->fastest = BATON_F32;
    kernels->dtypes[BATON_F32].linear = linear;
}
