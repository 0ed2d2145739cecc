/* One pass of rows through a model: the scratch of a step and the operations architectures are made
 * of.
 *
 * Ownership: arrays belong to the engine and hold its maximum of rows; a run is a view of the first
 *            n_rows of them.
 * Threading: the engine thread, which shares the work with its pool.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_RUN_H
#define BATON_ENGINE_RUN_H

#include <stdbool.h>

#include "common/engine/kernels/kernels.h"
#include "common/engine/kv/kv.h"
#include "common/engine/model/model_parts.h"
#include "common/engine/system/pool.h"

struct baton_row {
    const struct baton_seq *seq;
    int position;
    uint32_t token;
};

struct baton_run {
    const struct baton_model *model;
    const struct baton_kernels *kernels;
    struct baton_pool *pool;
    float attention_scale; /* 1 / sqrt(D) */

    int n_rows;
    struct baton_row *rows; /* [n_rows] */
    int *groups;            /* [n_rows] first rows of what is attended together */
    float *x;               /* [n_rows][C] the residual stream */
    float *normed;          /* [n_rows][C] */
    float *qkv;             /* [n_rows][(H + 2 G) D] */
    float *mixed;           /* [n_rows][H D] what attention gives */
    float *hidden;          /* [n_rows][F] */
    void *prepared;         /* a linear's input as its kernels read it */
    float *attending;       /* [n_threads] state of the queries attended together */
};

/* normed = norm(x) */
void baton_run_norm(struct baton_run *run, const struct baton_norm *norm);

/* out [n_rows][n_out] from in [n_rows][n_in] */
void baton_run_linear(struct baton_run *run, const struct baton_matrix *matrix, const float *in,
                      float *out, enum baton_epilogue epilogue);

/* The rows' K and V, from qkv into their sequences' blocks. */
void baton_run_store_kv(struct baton_run *run, int layer);

/* mixed = causal attention of each row's queries over positions 0..its own. */
void baton_run_attend(struct baton_run *run, int layer);

/* Goes on with n rows only, from the first-th on. */
void baton_run_narrow(struct baton_run *run, int first, int n);

/* Puts what a row needs from its attention on in the place of another one. */
void baton_run_move_row(struct baton_run *run, int from, int to);

/* Bytes of prepared input that n_rows rows need at most. */
size_t baton_run_prepared_bytes(const struct baton_model *model, int n_rows);

/* Floats of attention's state one thread needs. */
size_t baton_run_attending_floats(const struct baton_model_shape *shape);

#endif
