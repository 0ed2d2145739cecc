/* The states of a pool's blocks, by number: the holders of a block, the registered blocks and the
 * order of eviction. engine/kv.h draws them; this is private to the KV cache and touches no memory
 * of blocks.
 *
 * Memory comes and goes by steps of neighbouring blocks. Only blocks of backed steps are allocated,
 * those of the first steps before others, so that use is compact.
 *
 * Invariants: every block is in exactly one place: held (holders > 0), cached (no holder,
 *             registered, in the list of cached blocks), empty (no holder, not registered, on the
 *             stack of its step), or unbacked (no holder, not registered, its step is not backed).
 *             At most max_cached blocks are cached. A block has at most one hash, and a hash at
 *             most one block.
 * Ownership:  arrays for n_blocks, taken at init; nothing is allocated later. Each call is O(1).
 * Threading:  one owner at a time.
 * Errors:     init: NO_MEMORY.
 */
#ifndef BATON_ENGINE_KV_BLOCKS_H
#define BATON_ENGINE_KV_BLOCKS_H

#include <stdbool.h>

#include "common/base/block_hash.h"
#include "common/base/hash.h"

enum { BATON_KV_NO_BLOCK = -1 };

struct baton_kv_block {
    int n_holders;
    int64_t cached_ns; /* time at which it became cached, if it is */
    int older, newer;  /* neighbours among the cached; an empty block's `older` is the one below */
    struct baton_block_hash hash; /* of a registered one */
    struct baton_hash_node in_registered;
};

BATON_HASH_TABLE(baton_kv_registered, struct baton_kv_block, in_registered)

struct baton_kv_step {
    int top, n_empty; /* of the stack of empty blocks */
    bool is_backed;
    int64_t used_ns; /* time of the last use of a block of the step */
};

struct baton_kv_blocks {
    int n_blocks, n_empty, n_cached, n_unbacked, max_cached;
    int n_steps, step_blocks;
    int lowest;                    /* no step before it has empty blocks */
    struct baton_kv_step *steps;   /* [n_steps] */
    struct baton_kv_block *blocks; /* [n_blocks + 1], the last one heads the list of the cached */
    struct baton_kv_registered registered;
};

/* All blocks are empty, in steps of step_blocks, which are all backed. */
enum baton_err baton_kv_blocks_init(struct baton_kv_blocks *blocks, int n_blocks,
                                    int step_blocks) BATON_MUST_CHECK;
void baton_kv_blocks_fini(struct baton_kv_blocks *blocks);

/* Limits the cached blocks to n from now on. With 0 blocks are neither registered nor found. */
void baton_kv_blocks_bound(struct baton_kv_blocks *blocks, int n);

/* Evicts the blocks that became cached at before_ns or earlier. */
void baton_kv_blocks_expire(struct baton_kv_blocks *blocks, int64_t before_ns);

/* The number of blocks of a step; the last one may have fewer than the others. */
int baton_kv_blocks_in_step(const struct baton_kv_blocks *blocks, int step);
/* Makes the blocks of a step, which is unbacked, empty; now_ns counts as a use. */
void baton_kv_blocks_back(struct baton_kv_blocks *blocks, int step, int64_t now_ns);
/* Makes the blocks of a backed step, which are all empty, unbacked. */
void baton_kv_blocks_unback(struct baton_kv_blocks *blocks, int step);
/* Whether all blocks of a step are empty, and none was used after before_ns. */
bool baton_kv_blocks_is_unused(const struct baton_kv_blocks *blocks, int step, int64_t before_ns);

/* The blocks that can be allocated: empty and cached ones. */
int baton_kv_blocks_n_free(const struct baton_kv_blocks *blocks);

/* A free block, held once: an empty one, or else the least recently used of the cached, which is
 * evicted. One must be free. */
int baton_kv_blocks_allocate(struct baton_kv_blocks *blocks);

/* The block registered under that hash, or BATON_KV_NO_BLOCK. */
int baton_kv_blocks_find(const struct baton_kv_blocks *blocks, const struct baton_block_hash *hash);
/* The same, with one holder more. */
int baton_kv_blocks_acquire(struct baton_kv_blocks *blocks, const struct baton_block_hash *hash);

/* Removes one holder; without holders the block is free: cached when it is registered, else
 * empty. */
void baton_kv_blocks_release(struct baton_kv_blocks *blocks, int block);

bool baton_kv_blocks_is_registered(const struct baton_kv_blocks *blocks, int block);

/* Registers a held block, unless it is registered already or the hash is. */
void baton_kv_blocks_register(struct baton_kv_blocks *blocks, int block,
                              const struct baton_block_hash *hash);

/* When the next block to evict became cached; 0: none is cached. */
int64_t baton_kv_blocks_oldest_ns(const struct baton_kv_blocks *blocks);

/* Whether the invariants hold; O(n_blocks). */
bool baton_kv_blocks_are_consistent(const struct baton_kv_blocks *blocks);

#endif
