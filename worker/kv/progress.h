/* How far a sequence's K and V are computed, in one word that the engine thread writes and the main
 * thread reads: blocks [0, n_done) are ready in all layers, blocks [n_done, n_end) in the first
 * n_layers.
 *
 * Ownership: the word lies in the job.
 * Threading: one writer, one reader. Release pairs with acquire: blocks that the word calls ready
 *            can be read.
 * Errors:    none.
 */
#ifndef BATON_WORKER_KV_PROGRESS_H
#define BATON_WORKER_KV_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

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

/* Blocks that are ready in all layers; last_layer: the last one that holds K and V. */
static inline int baton_kv_progress_complete(struct baton_kv_progress progress, int last_layer)
{
    return progress.n_layers > last_layer ? progress.n_end : progress.n_done;
}

#endif
