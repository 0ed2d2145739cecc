/* The blocks of layers that see only a window: a sequence holds those of its window, no more, and
 * gives the others back as it advances.
 *
 * Each sequence sets per_sequence blocks aside for its life, or fewer if it is shorter. It never
 * holds more than these, and as many are backed, so an allocation always finds a free block and no
 * step fails for lack of one. Blocks are registered, cached and evicted as all others are
 * (blocks.h). Private to the KV cache.
 *
 * Ownership: owns its arrays, taken at create.
 * Threading: set_aside, give_back and n_left: the thread that owns the pool. The others: any, each
 *            call is atomic. Only the owner backs and unbacks blocks, under the mutex.
 * Errors:    create: NO_MEMORY.
 */
#ifndef BATON_ENGINE_KV_WINDOWS_H
#define BATON_ENGINE_KV_WINDOWS_H

#include <pthread.h>

#include "engine/kv/blocks.h"

struct baton_kv_windows {
    struct baton_kv_blocks blocks;
    pthread_mutex_t mutex; /* over blocks */
    int per_sequence, n_set_aside;
};

/* step_blocks as in blocks.h. */
enum baton_err baton_kv_windows_create(int n_blocks, int per_sequence, int step_blocks,
                                       struct baton_kv_windows **windows) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_kv_windows_destroy(struct baton_kv_windows *windows);

/* The blocks that a sequence of n_blocks sets aside. */
int baton_kv_windows_share(const struct baton_kv_windows *windows, int n_blocks);

/* Blocks that no sequence has set aside. */
int baton_kv_windows_n_left(const struct baton_kv_windows *windows);

/* Sets n blocks aside, of those left; gives them back. */
void baton_kv_windows_set_aside(struct baton_kv_windows *windows, int n);
void baton_kv_windows_give_back(struct baton_kv_windows *windows, int n);

void baton_kv_windows_bound(struct baton_kv_windows *windows, int n);

/* For a prompt whose first n blocks are cached: returns the largest number of these after which the
 * n_behind blocks before the next position (or all, if there are fewer) are registered. Holds
 * those, and writes their numbers to their places in numbers [n]. */
int baton_kv_windows_acquire(struct baton_kv_windows *windows,
                             const struct baton_block_hash *hashes, int n, int n_behind,
                             int *numbers);

/* Holds the block that is registered under the hash; BATON_KV_NO_BLOCK: none is. */
int baton_kv_windows_find(struct baton_kv_windows *windows, const struct baton_block_hash *hash);

/* Whether the block, which a sequence holds, is registered. */
bool baton_kv_windows_is_registered(struct baton_kv_windows *windows, int block);

/* Numbers first..end - 1 of a sequence: release makes each BATON_KV_NO_BLOCK, those that are so
 * included; allocate gives each a block. */
void baton_kv_windows_release(struct baton_kv_windows *windows, int *numbers, int first, int end);
void baton_kv_windows_allocate(struct baton_kv_windows *windows, int *numbers, int first, int end);

/* Registers the block under the hash, as baton_kv_blocks_register. */
void baton_kv_windows_register(struct baton_kv_windows *windows, int block,
                               const struct baton_block_hash *hash);

/* The number of cached blocks, and when the next one to evict became cached; 0: none is. */
int baton_kv_windows_n_cached(struct baton_kv_windows *windows, int64_t *oldest_ns);

/* Whether the blocks are consistent and no more are held than are set aside; O(n_blocks). */
bool baton_kv_windows_are_consistent(struct baton_kv_windows *windows);

#endif
