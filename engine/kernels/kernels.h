/* The arithmetic of one machine: the same kernels built for each instruction set, chosen at run
 * time.
 *
 * Row invariance: every element of a result is one chain of operations whose order depends only on
 * the lengths of the vectors (and, for attention, on absolute positions), never on how many rows
 * are computed together or by how many threads. AVX2 and AVX-512 give the same bits; on x86 the
 * portable build rounds products before adding them, AMX adds them in an order of its own (q8: the
 * same). On arm64 all sets give the same bits.
 *
 * Ownership: nothing; arguments are borrowed for the call.
 * Threading: pure functions; callers split the outputs.
 * Errors:    none; shapes are the caller's promise.
 */
#ifndef BATON_ENGINE_KERNELS_KERNELS_H
#define BATON_ENGINE_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/arch/spec.h"
#include "engine/kernels/attend/kv_block.h"
#include "engine/kernels/pack/packed.h"
#include "engine/kernels/recurrent/jobs.h"

/* The operation on a linear layer's result, after the bias, on its way to y. */
enum baton_epilogue_kind {
    BATON_STORE,    /* y = scale * result */
    BATON_ADD,      /* y = y + scale * result, the residual connection */
    BATON_ACTIVATE, /* y = activation(result) */
    BATON_GATE      /* y [n_rows][F] = activation(gate) * up, a pair of matrices (packed.h) */
};

struct baton_epilogue {
    enum baton_epilogue_kind kind;
    enum baton_activation activation; /* ACTIVATE: none of the gated forms */
    const float *xielu;               /* XIELU: its p, n, b and eps */
    float scale;                      /* STORE and ADD: 1 changes nothing */
    int n_ff;                         /* GATE: F */
    /* What a row adds to its result beside the bias: [n_rows], each [first_delta + n_out] or NULL.
     * NULL: no row adds anything. Not for listed rows. */
    const float *const *deltas;
    int first_delta;
};

/* y [n_rows][n_out] = x [n_rows][n_in] times weights [n_out][n_in] transposed, plus bias [n_out]
 * (NULL: none). x is quantized for the weights' dtype. Row r of y is the product of row r of x, or
 * of row rows[r] if rows are listed. A row of y begins y_stride floats after the one before,
 * because the weights may be some outputs of a larger matrix. */
struct baton_linear {
    const struct baton_packed *weights;
    const float *bias;
    const void *x;
    const int *rows; /* [n_rows]; NULL: all of x in order */
    float *y;
    int y_stride;
    int n_rows;
    struct baton_epilogue epilogue;
};

/* Neighbouring rows of one sequence. Row r is at position p = first_position + r and attends to
 * positions 0..p, or with a window to the last `window` of them, whose K and V are stored. Block b
 * of the sequence is block blocks[b] of layer (kv_block.h); blocks that no row attends to are not
 * read. Query head h attends to KV head h / group; with latents, where V is a part of K, all query
 * heads attend to the one KV head there is, and n_heads is a number of groups of query heads.
 *
 *     s = scale q.k;  s = score_cap tanh(s / score_cap);  out = softmax(s) V
 *
 * A sink is a score without a value: it joins the softmax's sum and nothing else. */
struct baton_attend {
    const float *q; /* [n_rows], q_stride floats apart, each [n_heads * group][D] */
    float *out;     /* [n_rows], out_stride floats apart, likewise, of V's size */
    size_t q_stride, out_stride;
    const void *layer;
    const int *blocks;
    enum baton_kv_dtype dtype;
    int n_rows, first_position;
    int n_heads, group, head_dim; /* G, H / G, D */
    int n_latent;                 /* V is so much of K, and rows of out have as much; 0: none */
    float scale;                  /* of the scores, before cap and softmax */
    float score_cap;              /* 0: none */
    int window;                   /* 0: none */
    int n_ahead, n_positions; /* a position sees n_ahead after it, of n_positions; n_ahead 0: none,
                                 and n_positions is not read */
    const float *sinks;       /* [H]; NULL: none */
    float *state;  /* scratch: baton_attend_query_floats of each query, n_rows * group a KV head */
    float *values; /* scratch: baton_attend_value_floats */
};

enum { BATON_ATTEND_QUERY_FLOATS = 32, BATON_ATTEND_STEP = 64 };

static inline size_t baton_attend_query_floats(int head_dim)
{
    size_t n = baton_kv_value_elements(head_dim), words = (n + 31) / 32 * 16; /* of 16 bits */
    return n + words + BATON_ATTEND_QUERY_FLOATS;
}

/* Floats that hold the V of a step of positions, which is gathered from K. */
static inline size_t baton_attend_value_floats(int n_latent)
{
    return BATON_ATTEND_STEP * baton_kv_value_elements(n_latent);
}

/* The functions of a set of kernels for weights of one dtype; all are NULL if the set has none. */
struct baton_dtype_kernels {
    /* Bytes of a quantized row of n_in inputs. */
    size_t (*row_bytes)(int n_in);

    /* Stores rows first_row..end_row-1 of x [n_rows][n_in] as linear reads them (quantized.h).
     * quantized holds n_rows rows. Dtypes that share this function read the same rows. */
    void (*quantize)(const float *x, int n_in, int first_row, int end_row, void *quantized);
    bool copies; /* quantize only copies: linear may read x itself */

    /* Computes outputs first_out..end_out-1, where first_out is a multiple of 16 (GATE: both are
     * multiples of 32). It ignores job->rows, which baton_kernels_linear handles.
     *
     * There may be any number of rows; each weight is read from memory once for up to 16 of them. A
     * row's bits depend on nothing but the row and the weights (openblas: from some number of rows
     * on, also on their number). */
    void (*linear)(const struct baton_linear *job, int first_out, int end_out);
};

struct baton_kernels {
    const char *name;         /* the argument of --kernels: "amx", "i8mm", "portable", ... */
    enum baton_layout layout; /* of the weights that linear reads */
    struct baton_dtype_kernels dtypes[BATON_N_DTYPES];
    enum baton_dtype fastest; /* of f32, bf16 and q8, all within the bounds on accuracy */

    /* y [n] = x [n], normalised; weight or bias NULL: none. y may be x. */
    void (*norm)(enum baton_norm_kind kind, float *y, const float *x, const float *weight,
                 const float *bias, int n, float epsilon);

    /* y [n] = y + x [n], normalised. */
    void (*norm_add)(enum baton_norm_kind kind, float *y, const float *x, const float *weight,
                     const float *bias, int n, float epsilon);

    /* Normalises each of the heads x [n_heads][D] in place. Head h's weight [D] begins at weight +
     * h * weight_stride: a stride of 0 is one weight for all heads, D is one for each. NULL: there
     * are no weights. */
    void (*norm_heads)(enum baton_norm_kind kind, float *x, const float *weight,
                       size_t weight_stride, int n_heads, int head_dim, float epsilon);

    /* Rotates the heads x [n_heads][D] of one row in place: in each head the pairs (x[i],
     * x[i + n_rotated / 2]) by the angles with these cosines and sines [n_rotated / 2]. The other
     * elements stay. */
    void (*rope)(float *x, const float *cosines, const float *sines, int n_heads, int head_dim,
                 int n_rotated);

    /* x [n] = cap tanh(x / cap), cap > 0. */
    void (*cap)(float *x, float cap, size_t n);

    /* Limits x [n] to +-limit. */
    void (*clamp)(float *x, float limit, size_t n);

    /* y [n] = y + scale * x [n]. */
    void (*add_scaled)(float *y, const float *x, float scale, size_t n);

    /* Stores K and V [n_heads][D] of one position as `slot` of its block. n_latent over 0: V is a
     * part of K, and v is not read. */
    void (*store_kv)(enum baton_kv_dtype dtype, const float *k, const float *v, int n_heads,
                     int head_dim, int n_latent, void *block, int slot);

    /* Attends with the query heads of KV heads first_head..end_head-1. K and V are read from memory
     * once for all queries; a query's bits depend only on itself and its positions' K and V. */
    void (*attend)(const struct baton_attend *job, int first_head, int end_head);

    /* Convolves channels first_channel..end_channel-1 of rows, multiples of 16 but for the last. */
    void (*convolve)(const struct baton_convolution *job, int first_channel, int end_channel);

    /* Scans columns first_column..end_column-1 of a state, multiples of 16. */
    void (*scan)(const struct baton_scan *job, int first_column, int end_column);

    /* The greatest of x [n], without NaN; -infinity if there is no number. */
    float (*max)(const float *x, size_t n);

    /* The same for every 16th element of each 256: y [16 ceil(n / 256)]. */
    void (*maxima)(float *y, const float *x, size_t n);

    /* y [n] = exp((x - max) * scale), where max is finite and no x is above it; 0 when the exponent
     * is -88 or less, or x is NaN. Relative error below 2e-7, plus that of the rounded exponent.
     * Returns the sum. y may be x. */
    double (*weigh)(float *y, const float *x, float max, float scale, size_t n);

    /* Moves the elements that are at least `least` to the front of y, and their ids to y_ids, in
     * their order; returns their number. ids NULL: an element's id is its index. Both outputs hold
     * n rounded up to 16; y may be x, y_ids may be ids. */
    size_t (*keep)(float *y, uint32_t *y_ids, const float *x, const uint32_t *ids, float least,
                   size_t n);
};

/* The fastest set that this CPU runs, with kernels for weights of any dtype. */
const struct baton_kernels *baton_kernels_best(void);

/* The set of that name; NULL if there is none, if this CPU cannot run it, or if OpenBLAS is not
 * installed. */
const struct baton_kernels *baton_kernels_find(const char *name);

/* The index-th of the sets that this CPU runs, fastest first, openblas last if it is installed;
 * NULL past the last. */
const struct baton_kernels *baton_kernels_at(int index);

/* Bytes of n_rows rows, quantized for weights of this dtype. */
static inline size_t baton_quantized_bytes(const struct baton_kernels *kernels,
                                           enum baton_dtype dtype, int n_rows, int n_in)
{
    return (size_t)n_rows * kernels->dtypes[dtype].row_bytes(n_in);
}

/* Whether the two dtypes read the same quantized rows, as do most dtypes with blocks, and those
 * whose rows are not quantized at all. */
static inline bool baton_shares_rows(const struct baton_kernels *kernels, enum baton_dtype dtype,
                                     enum baton_dtype other)
{
    return kernels->dtypes[dtype].quantize == kernels->dtypes[other].quantize;
}

/* Computes outputs first_out..end_out-1 by the kernels of the weights' dtype: see linear. */
void baton_kernels_linear(const struct baton_kernels *kernels, const struct baton_linear *job,
                          int first_out, int end_out);

#endif
