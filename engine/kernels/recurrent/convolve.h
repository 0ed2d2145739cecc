/* Short causal convolutions, channel by channel. Part of sets/recurrent.c.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_RECURRENT_CONVOLVE_H
#define BATON_ENGINE_KERNELS_RECURRENT_CONVOLVE_H

#include "engine/kernels/vector/vectors.h"

/* Row t of a channel's lanes, where rows before the first are those of the tail. */
INLINE vec row_or_tail(const struct baton_convolution *job, int t, int channel, int n)
{
    int n_tail = job->n_taps - 1;
    const float *row = t >= 0 ? job->x + (size_t)t * job->x_stride
                              : job->tail + (size_t)(n_tail + t) * (size_t)job->n_channels;
    return load_up_to(row + channel, n);
}

/* From the last row to the first, so that the rows before it are still as they were. */
static void convolve_lanes(const struct baton_convolution *job, int channel, int n)
{
    vec weights[BATON_MAX_TAPS], last[BATON_MAX_TAPS];
    vec bias = job->bias ? load_up_to(job->bias + channel, n) : splat(0);
    int n_taps = job->n_taps, n_tail = n_taps - 1;
    for (int j = 0; j < n_taps; j++)
        weights[j] = load_up_to(job->weights + (size_t)j * (size_t)job->n_channels + channel, n);
    for (int i = 0; i < n_tail; i++)
        last[i] = row_or_tail(job, job->n_rows - n_tail + i, channel, n);
    for (int t = job->n_rows - 1; t >= 0; t--) {
        vec sum = bias;
        for (int j = 0; j < n_taps; j++)
            sum += weights[j] * row_or_tail(job, t - n_tail + j, channel, n);
        store_up_to(job->x + (size_t)t * job->x_stride + channel,
                    job->has_silu ? swish(sum, 1) : sum, n);
    }
    for (int i = 0; i < n_tail; i++)
        store_up_to(job->tail + (size_t)i * (size_t)job->n_channels + channel, last[i], n);
}

static void convolve(const struct baton_convolution *job, int first_channel, int end_channel)
{
    for (int c = first_channel; c < end_channel; c += LANES)
        convolve_lanes(job, c, end_channel - c);
}

#endif
