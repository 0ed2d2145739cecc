/* The transfer of a context's blocks: the progress of their computation, the order in which they
 * leave, and their arrival.
 *
 * Progress: how far a sequence's K and V are computed, in one word that the engine thread writes
 * and the main thread reads. Blocks [0, n_done) are ready in all layers, blocks [n_done, n_end) in
 * the first n_layers.
 *
 * Stripes: the blocks of a prompt by the workers that compute it together, its parts. Blocks before
 * `first` were cached; the holder has them all.
 *
 *     blocks ->  0 .. first | stripe | stripe | stripe | stripe | ...
 *     part       the holder |   0    |   1    |   0    |   1    |   of two parts
 *
 * Order: a context leaves span after span of blocks, as the prompt is computed, and each span layer
 * by layer. Each layer's blocks, from the first wanted one on, leave exactly once. A span of a
 * prompt in parts is in one stripe.
 *
 *     blocks ->  0 .. first_block | span | span | span
 *     layer 0        not sent     |  1   |  4   |  7      the order when all layers of a span
 *     layer 1                     |  2   |  5   |  8      follow each other; a span has the blocks
 *     layer 2                     |  3   |  6   |  9      that were ready or begun at its start
 *
 * Arrival: each block of each layer arrives exactly once. Layers arrive in any order and in parts;
 * within a layer, blocks arrive in order.
 *
 * Ownership: an arrival owns one number per layer; zeroed it is valid to fini. The rest is plain
 *            data; the progress word lies in its sequence's request.
 * Threading: progress has one writer and one reader: release pairs with acquire, so a reader of the
 *            word sees the blocks that it counts as ready. The rest: one thread.
 * Errors:    arrival_init: NO_MEMORY.
 */
#ifndef BATON_WORKER_KV_TRANSFER_H
#define BATON_WORKER_KV_TRANSFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

/* The transport of contexts between workers: --kv-path, in the order of its choices. */
enum baton_kv_path {
    BATON_KV_PATH_AUTO,   /* shared where both workers are on one host and of one user, else wire */
    BATON_KV_PATH_SHARED, /* through shared memory, or not at all */
    BATON_KV_PATH_WIRE    /* over the link */
};

/* ---- progress ---- */

struct baton_kv_progress {
    int n_done, n_end; /* blocks, below 2^24 */
    int n_layers;      /* below 2^16 */
};

typedef atomic_uint_least64_t baton_kv_progress_word;

static inline void baton_kv_progress_publish(baton_kv_progress_word *word,
                                             struct baton_kv_progress progress)
{
    atomic_store_explicit(word,
                          (uint64_t)progress.n_done << 40 | (uint64_t)progress.n_end << 16 |
                              (uint64_t)progress.n_layers,
                          memory_order_release);
}

static inline struct baton_kv_progress baton_kv_progress_read(baton_kv_progress_word *word)
{
    uint64_t value = atomic_load_explicit(word, memory_order_acquire);
    return (struct baton_kv_progress){.n_done = (int)(value >> 40),
                                      .n_end = (int)(value >> 16 & 0xffffff),
                                      .n_layers = (int)(value & 0xffff)};
}

/* The number of blocks that are ready in all layers; last_layer: the last one that holds
 * K and V. */
static inline int baton_kv_progress_complete(struct baton_kv_progress progress, int last_layer)
{
    return progress.n_layers > last_layer ? progress.n_end : progress.n_done;
}

/* ---- stripes ---- */

/* Zeroed: no split, every block is part 0's. */
struct baton_kv_stripes {
    int first;    /* the first block that is computed */
    int n_blocks; /* of a stripe */
    int n_parts;
    int holder; /* the part that has the blocks before first */
};

/* The part that has or computes the block. */
int baton_kv_stripes_owner(const struct baton_kv_stripes *stripes, int block);

/* The part's first block from `block` on; end: it has none before end. */
int baton_kv_stripes_next(const struct baton_kv_stripes *stripes, int part, int block, int end);

/* The end of the stripe of `block`, at most end. */
int baton_kv_stripes_run_end(const struct baton_kv_stripes *stripes, int block, int end);

/* Blocks of the part among first..end - 1. */
int64_t baton_kv_stripes_count(const struct baton_kv_stripes *stripes, int part, int first,
                               int end);

/* The first block of the part's last stripe before end; end: it computes none. */
int baton_kv_stripes_last(const struct baton_kv_stripes *stripes, int part, int end);

/* ---- order ---- */

struct baton_kv_order {
    const int *layers; /* [n_layers], ascending: those that are sent; borrowed */
    int n_layers, n_blocks;
    int begin, end;                         /* blocks of the current span; begin == end: none */
    int layer, block;                       /* next of it; the layer as an index of layers */
    const struct baton_kv_stripes *stripes; /* NULL: all blocks leave; borrowed */
    int part;                               /* of stripes, whose blocks leave */
};

/* Adjacent blocks of one layer, counted in the sequence. */
struct baton_kv_extent {
    int layer, block, n_blocks;
};

/* The blocks first_block..n_blocks - 1, at least one, of layers [n_layers]. Zeroed it is over. */
void baton_kv_order_init(struct baton_kv_order *order, const int *layers, int n_layers,
                         int first_block, int n_blocks);

/* Restricts an order that has just begun to the part's blocks. */
void baton_kv_order_keep_part(struct baton_kv_order *order, const struct baton_kv_stripes *stripes,
                              int part);

/* The extent that can be sent next by the progress; false when there is none. */
bool baton_kv_order_next(struct baton_kv_order *order, struct baton_kv_progress progress,
                         struct baton_kv_extent *extent);

/* Advances the order: the first n_blocks of the extent of next were sent. */
void baton_kv_order_sent(struct baton_kv_order *order, int n_blocks);

/* Whether everything is computed. */
bool baton_kv_order_is_ready(const struct baton_kv_order *order, struct baton_kv_progress progress);

/* Whether everything was sent. */
bool baton_kv_order_is_over(const struct baton_kv_order *order);

/* ---- arrival ---- */

struct baton_kv_arrival {
    uint32_t n_layers, end_block;
    uint32_t *next_block; /* [n_layers]: the blocks before it have arrived */
    const int *held;      /* [n_held]: the layers whose blocks are expected */
    int n_held;
    const struct baton_kv_stripes *stripes; /* NULL: all blocks come; borrowed */
    int part;                               /* of stripes, whose blocks come */
};

/* Expects blocks first_block..end_block - 1 of each of the layers held [n_held], which are below
 * n_layers, and none of the others. held is borrowed. */
enum baton_err baton_kv_arrival_init(struct baton_kv_arrival *arrival, uint32_t n_layers,
                                     const int *held, int n_held, uint32_t first_block,
                                     uint32_t end_block) BATON_MUST_CHECK;
/* Skips the blocks before first in these layers [n], in which none has arrived. */
void baton_kv_arrival_begin_at(struct baton_kv_arrival *arrival, const int *layers, int n,
                               uint32_t first);
/* Restricts an arrival that has just begun to the part's blocks; a piece has blocks
 * of one stripe. */
void baton_kv_arrival_keep_part(struct baton_kv_arrival *arrival,
                                const struct baton_kv_stripes *stripes, int part);
void baton_kv_arrival_fini(struct baton_kv_arrival *arrival);

/* Records blocks first..first + n - 1 of layer; false, and records none, when one of them is not
 * expected now or at all. */
bool baton_kv_arrival_add(struct baton_kv_arrival *arrival, uint32_t layer, uint32_t first,
                          uint32_t n);

/* Whether exactly the blocks before end_block have arrived in each layer held. */
bool baton_kv_arrival_ends_at(const struct baton_kv_arrival *arrival, uint32_t end_block);

#endif
