#include <cblas.h>
#include <pthread.h>

#include "common/engine/kernels/kernels.h"

/* Each compute thread calls with its own columns: OpenBLAS's own threads would spin on the cores
 * that the pool is about to use. */
static void use_one_thread(void)
{
    openblas_set_num_threads(1);
}

void baton_dense_linear(const struct baton_kernels *kernels, const struct baton_linear *job,
                        int first_out, int end_out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, use_one_thread);
    const float *weights = job->weights + (size_t)first_out * (size_t)job->n_in;
    float keep = job->epilogue == BATON_ADD ? 1.0F : 0.0F;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, job->n_rows, end_out - first_out,
                job->n_in, 1.0F, job->x, job->n_in, weights, job->n_in, keep, job->y + first_out,
                job->n_out);
    kernels->finish(job, first_out, end_out);
}
