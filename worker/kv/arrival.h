/* Which blocks of a context have arrived: each block of each layer must do so exactly once.
 *
 * Layers arrive in any order and in parts; within a layer, blocks arrive in order.
 *
 * Ownership: owns one number per layer; zeroed it is valid to fini.
 * Threading: one thread.
 * Errors:    init: NO_MEMORY.
 */
#ifndef BATON_WORKER_KV_ARRIVAL_H
#define BATON_WORKER_KV_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "worker/kv/stripes.h"

struct baton_kv_arrival {
    uint32_t n_layers, end_block;
    uint32_t *next_block; /* [n_layers]: those below it are here */
    const int *held;      /* [n_held]: the layers that blocks are expected of */
    int n_held;
    const struct baton_kv_stripes *stripes; /* NULL: all blocks come; borrowed */
    int part;                               /* of stripes, whose blocks come */
};

/* Blocks first_block..end_block - 1 are to arrive of each of the layers held [n_held], which are
 * below n_layers; of the others none. held is borrowed. */
enum baton_err baton_kv_arrival_init(struct baton_kv_arrival *arrival, uint32_t n_layers,
                                     const int *held, int n_held, uint32_t first_block,
                                     uint32_t end_block) BATON_MUST_CHECK;
/* Of these layers [n], of which nothing has arrived, blocks before first do not come. */
void baton_kv_arrival_begin_at(struct baton_kv_arrival *arrival, const int *layers, int n,
                               uint32_t first);
/* Nothing has arrived yet: the part's blocks alone come, and a piece has blocks of one stripe. */
void baton_kv_arrival_keep_part(struct baton_kv_arrival *arrival,
                                const struct baton_kv_stripes *stripes, int part);
void baton_kv_arrival_fini(struct baton_kv_arrival *arrival);

/* Notes blocks first..first + n - 1 of layer; false, and nothing noted, when one of them is not
 * expected (now, or at all). */
bool baton_kv_arrival_take(struct baton_kv_arrival *arrival, uint32_t layer, uint32_t first,
                           uint32_t n);

/* Whether exactly the blocks before end_block are here, of each layer held. */
bool baton_kv_arrival_ends_at(const struct baton_kv_arrival *arrival, uint32_t end_block);

#endif
