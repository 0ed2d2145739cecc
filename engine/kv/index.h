/* The index of a pool's registered blocks: a hash table from block hashes to block numbers, chained
 * through the numbers. Private to the KV cache.
 *
 * Invariants: a block has at most one hash, a hash at most one block. A block hash is a piece of a
 *             SHA-256, so its first bytes choose the bucket without another hash function.
 * Ownership:  memory for n_blocks entries, taken at init; nothing is allocated later.
 * Threading:  one owner at a time.
 * Errors:     init: NO_MEMORY.
 */
#ifndef BATON_ENGINE_KV_INDEX_H
#define BATON_ENGINE_KV_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/block_hash.h"

enum { BATON_KV_NO_BLOCK = -1 };

struct baton_kv_index {
    size_t mask;                     /* number of buckets, a power of two, less one */
    int *buckets;                    /* [mask + 1] first block of a chain, or NO_BLOCK */
    int *next;                       /* [n_blocks] in the chain; see index.c for its ends */
    struct baton_block_hash *hashes; /* [n_blocks] of the registered ones */
};

enum baton_err baton_kv_index_init(struct baton_kv_index *index, int n_blocks) BATON_MUST_CHECK;
void baton_kv_index_fini(struct baton_kv_index *index);

/* The block registered under that hash, or BATON_KV_NO_BLOCK. */
int baton_kv_index_find(const struct baton_kv_index *index, const struct baton_block_hash *hash);
bool baton_kv_index_has(const struct baton_kv_index *index, int block);

/* The block is not registered yet, and neither is the hash. */
void baton_kv_index_add(struct baton_kv_index *index, int block,
                        const struct baton_block_hash *hash);
/* The block is registered. */
void baton_kv_index_remove(struct baton_kv_index *index, int block);

#endif
