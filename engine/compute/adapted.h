/* The changes that sequences' adapters make to products of a forward's rows (engine/adapter.h).
 *
 *     rows       0 1 2 3 4      blends of their sequences   a - b a a
 *     groups     a: 0 3 4, b: 2                              equal blends form one group
 *     inner      A x of a group's rows, once for each adapter of its blend
 *     deltas     sum of scale B (A x): the kernels add them after the bias (epilogue.deltas)
 *
 * A row's delta is a sum in the order of its own blend, by products that are row-invariant, so its
 * bits depend on no other row.
 *
 * Ownership: the state's arrays are pieces of the engine's scratch memory, sized for its most rows.
 * Threading: the engine thread, which shares the work with its pool.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_COMPUTE_ADAPTED_H
#define BATON_ENGINE_COMPUTE_ADAPTED_H

#include "engine/model/adapter.h"

struct baton_forward;
struct baton_input;
struct baton_model;

struct baton_adapted_group {
    const struct baton_blend *blend;
    int first, n; /* its rows */
};

struct baton_adapted_state {
    struct baton_adapted_group *groups; /* [n_rows]; NULL: the engine computes no adapters */
    int *group_of;                      /* [n_rows]; -1: no blend */
    int *rows;                          /* [n_rows] rows by group */
    float *inner;                       /* [n_rows][rank] */
    void *quantized;                    /* inner as up reads it */
    float *deltas;                      /* [n_rows][n_out] */
    const float **of_rows;              /* [n_rows] */
};

/* Points the arrays into memory for n_rows rows, or measures them when memory is NULL. Returns
 * their bytes. */
size_t baton_adapted_place(struct baton_adapted_state *state, const struct baton_model *model,
                           char *memory, int n_rows);

/* Bytes that adapters need of forward->quantized beside those of the model's matrices. */
size_t baton_adapted_quantized_bytes(const struct baton_model *model, int n_rows);

/* What the rows' adapters add to the product of this matrix with the input: [n_rows], for
 * epilogue.deltas; NULL: nothing. It lasts until the next call. */
const float *const *baton_adapted_deltas(struct baton_forward *forward, int layer,
                                         enum baton_adapted slot, struct baton_input *input);

#endif
