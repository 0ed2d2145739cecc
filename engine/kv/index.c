#include "engine/kv/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNREGISTERED = -2
}; /* next of a block that is in no chain; the end of a chain is NO_BLOCK */

enum baton_err baton_kv_index_init(struct baton_kv_index *index, int n_blocks)
{
    size_t n = (size_t)n_blocks, n_buckets = 1;
    /* At least one bucket per block, so chains stay short. */
    while (n_buckets < n)
        n_buckets *= 2;
    *index = (struct baton_kv_index){
        .mask = n_buckets - 1,
        .buckets = calloc(n_buckets, sizeof *index->buckets),
        .next = calloc(n, sizeof *index->next),
        .hashes = calloc(n, sizeof *index->hashes),
    };
    if (!index->buckets || !index->next || !index->hashes) {
        baton_kv_index_fini(index);
        return BATON_NO_MEMORY;
    }
    for (size_t i = 0; i < n_buckets; i++)
        index->buckets[i] = BATON_KV_NO_BLOCK;
    for (size_t i = 0; i < n; i++)
        index->next[i] = UNREGISTERED;
    return BATON_OK;
}

void baton_kv_index_fini(struct baton_kv_index *index)
{
    free(index->buckets);
    free(index->next);
    free(index->hashes);
    *index = (struct baton_kv_index){0};
}

/* A block's hash is cryptographic, so any of its bits spread blocks evenly over buckets. */
static int *bucket_of(const struct baton_kv_index *index, const struct baton_block_hash *hash)
{
    uint64_t bits;
    memcpy(&bits, hash->bytes, sizeof bits);
    return &index->buckets[bits & index->mask];
}

int baton_kv_index_find(const struct baton_kv_index *index, const struct baton_block_hash *hash)
{
    int block = *bucket_of(index, hash);
    while (block != BATON_KV_NO_BLOCK && memcmp(&index->hashes[block], hash, sizeof *hash) != 0)
        block = index->next[block];
    return block;
}

bool baton_kv_index_has(const struct baton_kv_index *index, int block)
{
    return index->next[block] != UNREGISTERED;
}

void baton_kv_index_add(struct baton_kv_index *index, int block,
                        const struct baton_block_hash *hash)
{
    int *bucket = bucket_of(index, hash);
    assert(!baton_kv_index_has(index, block));
    index->hashes[block] = *hash;
    index->next[block] = *bucket;
    *bucket = block;
}

void baton_kv_index_remove(struct baton_kv_index *index, int block)
{
    int *link = bucket_of(index, &index->hashes[block]);
    assert(baton_kv_index_has(index, block));
    while (*link != block)
        link = &index->next[*link];
    *link = index->next[block];
    index->next[block] = UNREGISTERED;
}
