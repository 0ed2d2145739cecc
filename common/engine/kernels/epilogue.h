/* What becomes of a product on its way to y. Part of body.h.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_KERNELS_EPILOGUE_H
#define BATON_KERNELS_EPILOGUE_H

#include "common/engine/kernels/vectors.h"

INLINE vec apply(enum baton_epilogue epilogue, vec result, vec before)
{
    switch (epilogue) {
    case BATON_ADD:
        return before + result;
    case BATON_GELU_TANH:
        return gelu_tanh(result);
    case BATON_STORE:
        break;
    }
    return result;
}

/* Bias and epilogue of one row's outputs out..out + n_outs - 1, n_outs <= 16, whose products are
 * the lanes of result. */
INLINE void finish_vec(const struct baton_linear *job, int row, int out, int n_outs, vec result)
{
    float *y = job->y + (size_t)row * (size_t)job->weights->n_out + out;
    if (n_outs == LANES) {
        if (job->bias)
            result += load(job->bias + out);
        vec before = job->epilogue == BATON_ADD ? load(y) : splat(0);
        store(y, apply(job->epilogue, result, before));
        return;
    }
    if (job->bias)
        result += load_part(job->bias + out, n_outs);
    vec before = job->epilogue == BATON_ADD ? load_part(y, n_outs) : splat(0);
    store_part(y, apply(job->epilogue, result, before), n_outs);
}

#endif
