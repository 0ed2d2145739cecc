#include "common/engine/kv_names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { UNNAMED = -2 }; /* what next says of a block that is in no chain */

enum baton_err baton_kv_names_init(struct baton_kv_names *names, int n_blocks)
{
    size_t n = (size_t)n_blocks, n_buckets = 1;
    while (n_buckets < n)
        n_buckets *= 2;
    *names = (struct baton_kv_names){
        .mask = n_buckets - 1,
        .buckets = calloc(n_buckets, sizeof *names->buckets),
        .next = calloc(n, sizeof *names->next),
        .hashes = calloc(n, sizeof *names->hashes),
    };
    if (!names->buckets || !names->next || !names->hashes) {
        baton_kv_names_fini(names);
        return BATON_NO_MEMORY;
    }
    for (size_t i = 0; i < n_buckets; i++)
        names->buckets[i] = BATON_KV_NO_BLOCK;
    for (size_t i = 0; i < n; i++)
        names->next[i] = UNNAMED;
    return BATON_OK;
}

void baton_kv_names_fini(struct baton_kv_names *names)
{
    free(names->buckets);
    free(names->next);
    free(names->hashes);
    *names = (struct baton_kv_names){0};
}

static int *bucket_of(const struct baton_kv_names *names, const struct baton_block_hash *hash)
{
    uint64_t bits;
    memcpy(&bits, hash->bytes, sizeof bits);
    return &names->buckets[bits & names->mask];
}

int baton_kv_names_find(const struct baton_kv_names *names, const struct baton_block_hash *hash)
{
    int block = *bucket_of(names, hash);
    while (block != BATON_KV_NO_BLOCK && memcmp(&names->hashes[block], hash, sizeof *hash) != 0)
        block = names->next[block];
    return block;
}

bool baton_kv_names_has(const struct baton_kv_names *names, int block)
{
    return names->next[block] != UNNAMED;
}

void baton_kv_names_add(struct baton_kv_names *names, int block,
                        const struct baton_block_hash *hash)
{
    int *bucket = bucket_of(names, hash);
    assert(!baton_kv_names_has(names, block));
    names->hashes[block] = *hash;
    names->next[block] = *bucket;
    *bucket = block;
}

void baton_kv_names_remove(struct baton_kv_names *names, int block)
{
    int *link = bucket_of(names, &names->hashes[block]);
    assert(baton_kv_names_has(names, block));
    while (*link != block)
        link = &names->next[*link];
    *link = names->next[block];
    names->next[block] = UNNAMED;
}
