/* What the recurrent layers of a model ask of the kernels: a short causal convolution, and a scan
 * of rows over a state of fixed size. Both read rows of one sequence in order; a row's bits depend
 * on the rows before it, never on where a step begins or ends.
 *
 * Ownership: nothing; arguments are borrowed for the call.
 * Threading: pure functions. Channels, and columns of the state, are independent: callers split
 *            them.
 * Errors:    none; shapes are the caller's promise.
 */
#ifndef BATON_ENGINE_KERNELS_RECURRENT_JOBS_H
#define BATON_ENGINE_KERNELS_RECURRENT_JOBS_H

#include <stdbool.h>
#include <stddef.h>

/* Rows x [n_rows], x_stride floats apart, become in place
 *
 *     x_t = act(bias + sum over j < n_taps of weights[j] x_{t - n_taps + 1 + j})
 *
 * channel by channel. The rows before the first are tail [n_taps - 1][n_channels], oldest first;
 * afterwards it holds the last rows as they were. */
struct baton_convolution {
    float *x;
    size_t x_stride;
    float *tail;
    const float *weights; /* [n_taps][n_channels] */
    const float *bias;    /* [n_channels]; NULL: none */
    int n_rows, n_taps, n_channels;
    bool has_silu; /* act is silu; else there is none */
};

enum { BATON_MAX_TAPS = 4, BATON_SCAN_COLUMNS = 16 };

/* One head's state S [n_keys][n_values] goes through rows, and each row reads it:
 *
 *     S = decay S;   S = S + k d^T;   out = S^T q
 *
 * where d = write v, or with the delta rule d = write (v - S^T k) of the decayed S (Yang et al.,
 * "Gated Delta Networks"). Without the rule this is Mamba-2's state, with k = B, q = C and v = x
 * (Dao and Gu, "Transformers are SSMs").
 *
 * S lies in columns of 16 values: [n_values / 16, rounded up][n_keys][16]; those past the last are
 * zero. n_keys is a multiple of 4. A caller splits the columns at multiples of 16. */
struct baton_scan {
    float *state;
    const float *k, *q; /* [n_rows][n_keys], key_stride floats apart */
    const float *v;     /* [n_rows][n_values], value_stride floats apart */
    float *out;         /* [n_rows][n_values], out_stride floats apart */
    const float *decay; /* [n_rows], gate_stride floats apart */
    const float *write; /* likewise */
    size_t key_stride, value_stride, out_stride, gate_stride;
    int n_rows, n_keys;
    bool has_delta_rule;
};

#endif
