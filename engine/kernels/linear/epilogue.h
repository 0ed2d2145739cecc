/* Bias, activation, gate and residual of a product on its way to y. Part of a set (set.h).
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_LINEAR_EPILOGUE_H
#define BATON_ENGINE_KERNELS_LINEAR_EPILOGUE_H

#include "engine/kernels/vector/activate.h"

/* A panel of the gate's outputs comes before the panel of the same outputs of up: the gate's
 * results wait in y for those of up. */
INLINE void finish_gated(const struct baton_linear *job, int row, int out, vec result)
{
    int n_ff = job->epilogue.n_ff, at = baton_gated_output(out);
    int n = n_ff - at < LANES ? n_ff - at : LANES;
    float *y = job->y + (size_t)row * (size_t)job->y_stride + at;
    if (baton_is_up_row(out))
        result = open_gate(job->epilogue.activation, load_up_to(y, n), result);
    store_up_to(y, result, n);
}

/* Bias, delta and epilogue of one row's outputs out..out + n_outs - 1, n_outs <= 16, whose products
 * are the lanes of result. */
INLINE void finish_vec(const struct baton_linear *job, int row, int out, int n_outs, vec result)
{
    if (job->bias)
        result += load_up_to(job->bias + out, n_outs);
    if (job->epilogue.deltas && job->epilogue.deltas[row])
        result += load_up_to(job->epilogue.deltas[row] + job->epilogue.first_delta + out, n_outs);
    if (job->epilogue.kind == BATON_GATE) {
        finish_gated(job, row, out, result);
        return;
    }
    float *y = job->y + (size_t)row * (size_t)job->y_stride + out;
    if (job->epilogue.kind == BATON_ACTIVATE && job->epilogue.activation == BATON_ACT_XIELU)
        result = xielu(job->epilogue.xielu, result);
    else if (job->epilogue.kind == BATON_ACTIVATE)
        result = activate(job->epilogue.activation, result);
    else
        result *= job->epilogue.scale;
    if (job->epilogue.kind == BATON_ADD)
        result += load_up_to(y, n_outs);
    store_up_to(y, result, n_outs);
}

/* The same for n_rows rows from `row` on and the outputs first_out..end_out-1. A row of products
 * begins `stride` floats after the one before. */
INLINE void finish_block(const struct baton_linear *job, int row, int n_rows, int first_out,
                         int end_out, const float *products, size_t stride)
{
    for (int r = 0; r < n_rows; r++)
        for (int out = first_out; out < end_out; out += LANES) {
            int n = end_out - out < LANES ? end_out - out : LANES;
            finish_vec(job, row + r, out, n,
                       load_up_to(products + (size_t)r * stride + (out - first_out), n));
        }
}

#endif
