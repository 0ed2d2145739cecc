/* Matrices to be packed, listed first and then packed all together, a few panels at a time, by all
 * threads.
 *
 * Ownership: the list is the caller's; sources and destinations are borrowed until run returns.
 * Threading: one owner; run keeps the pool busy.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_ENGINE_PACKING_H
#define BATON_ENGINE_PACKING_H

#include "common/checkpoint/weights.h"
#include "common/engine/kernels/packed.h"
#include "common/engine/system/pool.h"

struct baton_packing_job {
    struct baton_weights_source source;
    struct baton_packed packed;
    int first_item; /* of this matrix in the loop over all */
};

struct baton_packing {
    struct baton_packing_job *jobs;
    int n_jobs, n_items;
};

enum baton_err baton_packing_add(struct baton_packing *packing,
                                 const struct baton_weights_source *source,
                                 const struct baton_packed *packed) BATON_MUST_CHECK;

/* show_progress: a line on stderr, if that is a terminal. */
enum baton_err baton_packing_run(const struct baton_packing *packing, struct baton_pool *pool,
                                 bool show_progress) BATON_MUST_CHECK;
void baton_packing_fini(struct baton_packing *packing);

#endif
