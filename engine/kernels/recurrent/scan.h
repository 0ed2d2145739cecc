/* Scans of rows over a state. Part of sets/recurrent.c.
 *
 * A column of the state depends on no other, so that lanes are columns and no sum crosses lanes.
 * Sums over keys are four interleaved ones, whatever the number of rows. One pass over the state
 * writes row t into it, reads it for row t, and takes row t + 1's correction from it.
 *
 * Pure: arguments are borrowed for the call.
 */
#ifndef BATON_ENGINE_KERNELS_RECURRENT_SCAN_H
#define BATON_ENGINE_KERNELS_RECURRENT_SCAN_H

#include "engine/kernels/vector/registers.h"

enum { KEY_SUMS = 4 };

INLINE reg total_of(const reg sums[KEY_SUMS])
{
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* S^T k of a register's columns. */
INLINE reg read_state(const float *state, const float *k, int n_keys)
{
    reg sums[KEY_SUMS] = {0};
    for (int i = 0; i < n_keys; i += KEY_SUMS)
        for (int s = 0; s < KEY_SUMS; s++)
            sums[s] += load_reg(state + (size_t)(i + s) * LANES) * k[i + s];
    return total_of(sums);
}

/* S = decay S + k d^T; *out = S^T q. Returns S^T k of the next row, or nothing of meaning. */
INLINE reg step_state(float *state, float decay, const float *k, reg d, const float *q,
                      const float *next_k, int n_keys, reg *out)
{
    reg read[KEY_SUMS] = {0}, next[KEY_SUMS] = {0};
    for (int i = 0; i < n_keys; i += KEY_SUMS)
        for (int s = 0; s < KEY_SUMS; s++) {
            float *at = state + (size_t)(i + s) * LANES;
            reg kept = load_reg(at) * decay;
            reg now = kept + d * k[i + s];
            store_reg(at, now);
            read[s] += now * q[i + s];
            if (next_k)
                next[s] += now * next_k[i + s];
        }
    *out = total_of(read);
    return total_of(next);
}

/* The first n values, then zeros: the last columns may be fewer than a register's. */
INLINE reg load_values(const float *values, int n)
{
    float some[REG_LANES] = {0};
    if (n >= REG_LANES)
        return load_reg(values);
    for (int i = 0; i < n; i++)
        some[i] = values[i];
    return load_reg(some);
}

INLINE void store_values(float *values, reg from, int n)
{
    float some[REG_LANES];
    if (n >= REG_LANES) {
        store_reg(values, from);
        return;
    }
    store_reg(some, from);
    for (int i = 0; i < n; i++)
        values[i] = some[i];
}

/* The columns of one register, n of which count; they begin at state and at value v of a row. */
static void scan_columns(const struct baton_scan *job, float *state, size_t v, int n)
{
    reg correction = {0};
    if (job->has_delta_rule)
        correction = read_state(state, job->k, job->n_keys);
    for (int t = 0; t < job->n_rows; t++) {
        size_t row = (size_t)t;
        const float *k = job->k + row * job->key_stride, *q = job->q + row * job->key_stride;
        float decay = job->decay[row * job->gate_stride],
              write = job->write[row * job->gate_stride];
        reg d = load_values(job->v + row * job->value_stride + v, n), out;
        if (job->has_delta_rule)
            d -= correction * decay;
        d *= write;
        bool has_next = job->has_delta_rule && t + 1 < job->n_rows;
        if (has_next)
            correction = step_state(state, decay, k, d, q, k + job->key_stride, job->n_keys, &out);
        else
            (void)step_state(state, decay, k, d, q, NULL, job->n_keys, &out);
        store_values(job->out + row * job->out_stride + v, out, n);
    }
}

static void scan(const struct baton_scan *job, int first_column, int end_column)
{
    for (int c = first_column; c < end_column; c += REG_LANES) {
        int group = c / LANES, lane = c % LANES;
        scan_columns(job, job->state + (size_t)group * (size_t)job->n_keys * LANES + lane,
                     (size_t)c, end_column - c);
    }
}

#endif
