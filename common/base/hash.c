#include "common/base/hash.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/random.h"

enum { FIRST_BUCKETS = 16 };

uint64_t baton_hash_key[2];

__attribute__((constructor)) static void draw_key(void)
{
    baton_hash_key[0] = baton_random_id();
    baton_hash_key[1] = baton_random_id();
}

static struct baton_hash_node **bucket_of(const struct baton_hash_table *table, uint64_t hash)
{
    /* A sender may choose an id or a digest; the key decides which of them share a bucket. */
    return table->buckets ? &table->buckets[baton_hash_pair(hash, 0) & table->mask]
                          : (struct baton_hash_node **)(uintptr_t)&table->only;
}

static void chain(struct baton_hash_node **bucket, struct baton_hash_node *node)
{
    node->next = *bucket;
    node->link = bucket;
    if (node->next)
        node->next->link = &node->next;
    *bucket = node;
}

/* Makes at least n buckets. */
static enum baton_err widen(struct baton_hash_table *table, size_t n)
{
    struct baton_hash_table wider = {
        .mask = FIRST_BUCKETS - 1, .n = table->n, .is_reserved = table->is_reserved};
    while (wider.mask + 1 < n && wider.mask < SIZE_MAX / 2)
        wider.mask = 2 * wider.mask + 1;
    if (table->buckets && wider.mask <= table->mask)
        return BATON_OK;
    wider.buckets = calloc(wider.mask + 1, sizeof(struct baton_hash_node *));
    if (!wider.buckets)
        return BATON_NO_MEMORY;
    for (size_t i = 0; i <= table->mask; i++) {
        struct baton_hash_node *node = table->buckets ? table->buckets[i] : table->only, *next;
        for (; node; node = next) {
            next = node->next;
            chain(bucket_of(&wider, node->hash), node);
        }
    }
    free(table->buckets);
    *table = wider;
    return BATON_OK;
}

enum baton_err baton_hash_table_reserve(struct baton_hash_table *table, size_t n)
{
    enum baton_err err = widen(table, n);
    table->is_reserved = !err;
    return err;
}

void baton_hash_table_fini(struct baton_hash_table *table)
{
    free(table->buckets);
    *table = (struct baton_hash_table){0};
}

void baton_hash_table_put(struct baton_hash_table *table, struct baton_hash_node *node,
                          uint64_t hash)
{
    assert(!node->link);
    if (table->n > table->mask)
        (void)!widen(table, table->n + 1); /* without memory chains grow longer */
    node->hash = hash;
    chain(bucket_of(table, hash), node);
    table->n++;
}

void baton_hash_table_remove(struct baton_hash_table *table, struct baton_hash_node *node)
{
    assert(node->link);
    *node->link = node->next;
    if (node->next)
        node->next->link = node->link;
    node->next = NULL;
    node->link = NULL;
    if (!--table->n && !table->is_reserved)
        baton_hash_table_fini(table);
}

struct baton_hash_node *baton_hash_node_find(struct baton_hash_node *node, uint64_t hash)
{
    while (node && node->hash != hash)
        node = node->next;
    return node;
}

struct baton_hash_node *baton_hash_table_first(const struct baton_hash_table *table, uint64_t hash)
{
    return baton_hash_node_find(*bucket_of(table, hash), hash);
}
