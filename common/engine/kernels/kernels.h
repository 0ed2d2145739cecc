/* The arithmetic of one machine: the same kernels built for each instruction set, chosen at run
 * time.
 *
 * Row invariance: every element of a result is one chain of operations whose order depends only on
 * the lengths of the vectors (and, for attention, on absolute positions), never on how many rows
 * are computed together or by how many threads. AVX2 and AVX-512 give the same bits; the portable
 * build rounds products before adding them.
 *
 * Ownership: nothing; arguments are borrowed for the call.
 * Threading: pure functions; callers split the outputs.
 * Errors:    none; shapes are the caller's promise.
 */
#ifndef BATON_ENGINE_KERNELS_H
#define BATON_ENGINE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* What happens to a linear layer's result, the bias added, on its way to y. */
enum baton_epilogue {
    BATON_STORE,    /* y = result */
    BATON_ADD,      /* y = y + result, the residual connection */
    BATON_GELU_TANH /* y = gelu(result), the tanh form */
};

/* y [n_rows][n_out] = x [n_rows][n_in] times weights [n_out][n_in] transposed, plus bias [n_out]
 * (NULL: none); everything row-major and dense. */
struct baton_linear {
    const float *x, *weights, *bias;
    float *y;
    int n_rows, n_in, n_out;
    enum baton_epilogue epilogue;
};

/* One query row of one head over the positions 0..n_positions-1 of its sequence. Block b of the
 * sequence starts at layer + blocks[b] * block_floats; the head's K [D][BLOCK] is k_offset floats
 * into it, its V [BLOCK][D] v_offset floats (see kv.h). */
struct baton_attend {
    const float *q; /* [D] */
    float *out;     /* [D] */
    const float *layer;
    const int *blocks;
    size_t block_floats, k_offset, v_offset;
    int n_positions, head_dim;
    float scale;   /* of the scores, before the softmax */
    float *scores; /* scratch: n_positions rounded up to a whole block */
};

struct baton_kernels {
    const char *name;   /* "avx512", "avx2", "portable" */
    int dense_min_rows; /* from this many rows on baton_dense_linear is the faster one (measured) */

    /* Few rows: columns first_out..end_out-1 of y; reads each of their weights from memory once. */
    void (*linear)(const struct baton_linear *job, int first_out, int end_out);

    /* Bias and epilogue of those columns, when y holds the bare product (for BATON_ADD: y plus the
     * product) already. */
    void (*finish)(const struct baton_linear *job, int first_out, int end_out);

    /* y [n] = (x - mean) / sqrt(variance + epsilon) * weight + bias */
    void (*layer_norm)(float *y, const float *x, const float *weight, const float *bias, int n,
                       float epsilon);

    void (*attend)(const struct baton_attend *job);

    /* The greatest of x [n]; NaN is passed over. -infinity when nothing is left. */
    float (*max)(const float *x, size_t n);

    /* The same of every 16th element of each 256: y [16 ceil(n / 256)]. */
    void (*maxima)(float *y, const float *x, size_t n);

    /* y [n] = exp((x - max) * scale), where max is finite and no x is above it; 0 when the exponent
     * is -88 or less, or x is NaN. Relative error below 2e-7, plus that of the rounded exponent.
     * Returns the sum. y may be x. */
    double (*weigh)(float *y, const float *x, float max, float scale, size_t n);

    /* Moves the elements that are at least `least` to the front of y, and their ids beside them, in
     * their order; returns how many. ids NULL: an element's id is its index. Both outputs have room
     * for n rounded up to 16; y may be x, y_ids may be ids. */
    size_t (*keep)(float *y, uint32_t *y_ids, const float *x, const uint32_t *ids, float least,
                   size_t n);
};

/* The fastest this CPU runs. */
const struct baton_kernels *baton_kernels_best(void);

/* All that this CPU runs, fastest first; NULL past the last. */
const struct baton_kernels *baton_kernels_at(int index);

/* Many rows: the same columns through OpenBLAS's GEMM, which reads the same weights; the caller's
 * thread only. The order of its sums is OpenBLAS's own. */
void baton_dense_linear(const struct baton_kernels *kernels, const struct baton_linear *job,
                        int first_out, int end_out);

#endif
