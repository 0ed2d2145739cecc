#include <cblas.h>
#include <dlfcn.h>

#include "engine/kernels/variants.h"

/* Set once, before linear is called. */
static const struct baton_row_kernels *row_kernels;
static __typeof__(cblas_sgemm) *sgemm;

/* The size of a block of products outside of y: 128 KiB of the thread's stack. */
enum { BLOCK_ROWS = 128, BLOCK_OUTS = 256 };

/* to [n_rows][n_outs] = keep * to + the products of rows from `row` on and outputs from `out` on,
 * without epilogue. A row of `to` begins `stride` floats after the one before. */
static void multiply(const struct baton_linear *job, int row, int n_rows, int out, int n_outs,
                     float keep, float *to, int stride)
{
    const int n_in = job->weights->n_in;
    const float *weights = (const float *)job->weights->data + (size_t)out * (size_t)n_in;
    const float *x = (const float *)job->x + (size_t)row * (size_t)n_in;
    sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n_rows, n_outs, n_in, 1.0F, x, n_in, weights,
          n_in, keep, to, stride);
}

/* Stores the products in y. The GEMM itself adds the residual that y may hold. */
static void multiply_in_place(const struct baton_linear *job, int first_out, int end_out)
{
    const bool adds = job->epilogue.kind == BATON_ADD;
    struct baton_linear rest = *job;
    multiply(job, 0, job->n_rows, first_out, end_out - first_out, adds ? 1.0F : 0.0F,
             job->y + first_out, job->y_stride);
    if (adds)
        rest.epilogue.kind = BATON_STORE;
    row_kernels->finish(&rest, 0, job->n_rows, first_out, end_out, job->y + first_out,
                        (size_t)job->y_stride);
}

static void multiply_in_blocks(const struct baton_linear *job, int first_out, int end_out)
{
    float products[BLOCK_ROWS * BLOCK_OUTS];
    for (int out = first_out; out < end_out; out += BLOCK_OUTS) {
        int end = end_out - out < BLOCK_OUTS ? end_out : out + BLOCK_OUTS;
        for (int row = 0; row < job->n_rows; row += BLOCK_ROWS) {
            int n_rows = job->n_rows - row < BLOCK_ROWS ? job->n_rows - row : BLOCK_ROWS;
            multiply(job, row, n_rows, out, end - out, 0, products, BLOCK_OUTS);
            row_kernels->finish(job, row, n_rows, out, end, products, BLOCK_OUTS);
        }
    }
}

static void linear(const struct baton_linear *job, int first_out, int end_out)
{
    const struct baton_epilogue *epilogue = &job->epilogue;
    if (job->n_rows < row_kernels->dense_min_rows)
        row_kernels->linear(job, first_out, end_out);
    else if (epilogue->kind == BATON_GATE || (epilogue->kind == BATON_ADD && epilogue->scale != 1))
        multiply_in_blocks(job, first_out, end_out);
    else
        multiply_in_place(job, first_out, end_out);
}

/* A function of the library, with the type that cblas.h declares. */
#define FUNCTION(library, name) ((__typeof__(name) *)dlsym(library, #name))

bool baton_openblas_fill(struct baton_kernels *kernels, const struct baton_kernels *best,
                         const struct baton_row_kernels *rows)
{
    /* It is never closed: the kernels live as long as the process. */
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    __typeof__(openblas_set_num_threads) *set_num_threads =
        FUNCTION(library, openblas_set_num_threads);
    sgemm = FUNCTION(library, cblas_sgemm);
    if (!sgemm || !set_num_threads)
        return false;
    /* Each compute thread calls with its own columns: OpenBLAS's own threads would spin on the
     * cores that the pool is about to use. */
    set_num_threads(1);
    row_kernels = rows;
    *kernels = *best;
    kernels->name = "openblas";
    kernels->layout = BATON_ROWS;
    for (int i = 0; i < BATON_N_DTYPES; i++)
        if (i != BATON_F32)
            kernels->dtypes[i] = (struct baton_dtype_kernels){0};
    kernels->fastest = BATON_F32;
    kernels->dtypes[BATON_F32].linear = linear;
    return true;
}
