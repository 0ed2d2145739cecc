/* An adapter's matrices as forwards multiply them (engine/adapter.h).
 *
 * A matrix of the model may hold several of a file's, as qkv does. Their A lie behind each other in
 * `down`, and each part's B has columns of its own in `up`, which is zero elsewhere: two products
 * serve all parts. The outputs of up are in the order of the model's panels, a gate's and up's in
 * turn.
 *
 * Ownership: the arrays are pieces of the adapter's slab.
 * Threading: immutable once loaded.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_MODEL_ADAPTER_H
#define BATON_ENGINE_MODEL_ADAPTER_H

#include "engine/adapter.h"
#include "engine/arch/arrays.h"
#include "engine/kernels/pack/packed.h"

/* The matrices of a layer that adapters change. */
enum baton_adapted {
    BATON_ADAPTED_QKV,
    BATON_ADAPTED_OUT,
    BATON_ADAPTED_UP,
    BATON_ADAPTED_DOWN,
    BATON_N_ADAPTED
};

struct baton_delta {
    int rank;                     /* of all parts together; 0: the matrix stays as it is */
    struct baton_packed down, up; /* [rank][n_in], [n_out][rank] */
};

struct baton_adapter {
    struct baton_adapter_info info;
    int n_layers;
    struct baton_delta (*layers)[BATON_N_ADAPTED]; /* [n_layers] */
    char *slab;
};

/* The ranks of a file's parts of one matrix are together at most this. */
enum { BATON_ADAPTER_MAX_PARTS = 3 };

static inline enum baton_array_kind baton_adapted_kind(enum baton_adapted slot)
{
    static const enum baton_array_kind kinds[BATON_N_ADAPTED] = {BATON_ARRAY_QKV, BATON_ARRAY_OUT,
                                                                 BATON_ARRAY_UP, BATON_ARRAY_DOWN};
    return kinds[slot];
}

#endif
