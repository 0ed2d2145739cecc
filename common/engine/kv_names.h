/* Which block of a pool has which name: a hash table from block hashes to block numbers, chained
 * through the numbers. Private to the KV cache.
 *
 * Invariants: a block has at most one name, a name at most one block. A hash is a piece of a
 *             SHA-256, so its first bytes serve as the hash.
 * Ownership:  memory for n_blocks names, taken at init; nothing is allocated later.
 * Threading:  one owner at a time.
 * Errors:     init: NO_MEMORY.
 */
#ifndef BATON_ENGINE_KV_NAMES_H
#define BATON_ENGINE_KV_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/block_hash.h"

enum { BATON_KV_NO_BLOCK = -1 };

struct baton_kv_names {
    size_t mask;                     /* number of buckets, a power of two, less one */
    int *buckets;                    /* [mask + 1] first block of a chain, or NO_BLOCK */
    int *next;                       /* [n_blocks] in the chain; see kv_names.c for its ends */
    struct baton_block_hash *hashes; /* [n_blocks] of the named ones */
};

enum baton_err baton_kv_names_init(struct baton_kv_names *names, int n_blocks) BATON_MUST_CHECK;
void baton_kv_names_fini(struct baton_kv_names *names);

/* The block of that name, or BATON_KV_NO_BLOCK. */
int baton_kv_names_find(const struct baton_kv_names *names, const struct baton_block_hash *hash);
bool baton_kv_names_has(const struct baton_kv_names *names, int block);

/* The block has no name yet, and the hash no block. */
void baton_kv_names_add(struct baton_kv_names *names, int block,
                        const struct baton_block_hash *hash);
/* The block has a name. */
void baton_kv_names_remove(struct baton_kv_names *names, int block);

#endif
