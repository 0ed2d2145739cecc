/* Keyed hashes of words and bytes, and hash tables of structs.
 *
 * A random key, drawn once per process, enters every hash and every choice of a bucket. Nobody can
 * construct keys that share a bucket, so keys may come from clients and files. Hashes differ from
 * process to process: they never leave it, and neither an order nor a digest may depend on them.
 *
 * BATON_HASH_TABLE(name, type, member) defines struct name and inline functions name_put,
 * name_remove, name_first, name_next, name_reserve and name_fini that take and return `type *`.
 * The table chains the structs through `member`; a zeroed table is empty. A hash is 64 bits that
 * equal keys share: an id itself, bytes of a digest, or baton_hash_bytes. name_first and name_next
 * return the structs of one hash in no particular order; the caller compares keys, unless the hash
 * is the key. The number of buckets doubles when there are more structs than buckets; without
 * memory for that, chains grow longer instead. The last struct that leaves frees the buckets.
 * name_reserve makes buckets for n structs and keeps them, for owners that must allocate nothing
 * later. name_fini frees the buckets of such a table, or of one that still holds structs.
 *
 * Not for hot tables of numbers, where a chain costs a cache miss per step: these probe an array
 * of their own (engine/tokenizer/model/bpe.c, engine/sampling/history.c).
 *
 * Ownership: a table never owns its structs; it owns its buckets. It must not move while it holds
 *            structs, nor may they.
 * Threading: hashes: any thread. Tables: one owner at a time.
 * Errors:    reserve: NO_MEMORY. Adding twice or removing an absent struct is a bug (asserted).
 */
#ifndef BATON_COMMON_BASE_HASH_H
#define BATON_COMMON_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/error.h"

/* Drawn before main. */
extern uint64_t baton_hash_key[2];

/* Hashes two words. They are multiplied to 128 bits and folded, as in wyhash (Wang Yi, 2019); it is
 * not cryptographic. */
static inline uint64_t baton_hash_pair(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(a ^ baton_hash_key[0]) * (b ^ baton_hash_key[1]);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hashes n bytes. */
static inline uint64_t baton_hash_bytes(const void *bytes, size_t n)
{
    const char *rest = bytes;
    uint64_t hash = n, word;
    for (; n >= sizeof word; n -= sizeof word, rest += sizeof word) {
        memcpy(&word, rest, sizeof word);
        hash = baton_hash_pair(hash, word);
    }
    word = 0;
    memcpy(&word, rest, n);
    return baton_hash_pair(hash, word);
}

struct baton_hash_node {
    struct baton_hash_node *next, **link; /* link: the pointer to this one; NULL in no table */
    uint64_t hash;
};

struct baton_hash_table {
    struct baton_hash_node **buckets; /* [mask + 1]; NULL: `only` is the one bucket */
    struct baton_hash_node *only;
    size_t mask, n;
    bool is_reserved;
};

/* For BATON_HASH_TABLE. */
void baton_hash_table_put(struct baton_hash_table *table, struct baton_hash_node *node,
                          uint64_t hash);
void baton_hash_table_remove(struct baton_hash_table *table, struct baton_hash_node *node);
/* Returns the first node from this one on that has the hash, or NULL. */
struct baton_hash_node *baton_hash_node_find(struct baton_hash_node *node, uint64_t hash);
struct baton_hash_node *baton_hash_table_first(const struct baton_hash_table *table, uint64_t hash);
enum baton_err baton_hash_table_reserve(struct baton_hash_table *table, size_t n) BATON_MUST_CHECK;
void baton_hash_table_fini(struct baton_hash_table *table);

#define BATON_HASH_TABLE(name, type, member)                                                       \
    struct name {                                                                                  \
        struct baton_hash_table base;                                                              \
    };                                                                                             \
    static inline __attribute__((unused)) type *name##_item(struct baton_hash_node *node)          \
    {                                                                                              \
        return node ? (type *)((char *)node - offsetof(type, member)) : NULL;                      \
    }                                                                                              \
    static inline                                                                                  \
        __attribute__((unused)) void name##_put(struct name *table, type *item, uint64_t hash)     \
    {                                                                                              \
        baton_hash_table_put(&table->base, &item->member, hash);                                   \
    }                                                                                              \
    static inline __attribute__((unused)) void name##_remove(struct name *table, type *item)       \
    {                                                                                              \
        baton_hash_table_remove(&table->base, &item->member);                                      \
    }                                                                                              \
    static inline __attribute__((unused))                                                          \
    type *name##_first(const struct name *table, uint64_t hash)                                    \
    {                                                                                              \
        return name##_item(baton_hash_table_first(&table->base, hash));                            \
    }                                                                                              \
    static inline __attribute__((unused)) type *name##_next(const type *item)                      \
    {                                                                                              \
        return name##_item(baton_hash_node_find(item->member.next, item->member.hash));            \
    }                                                                                              \
    static inline                                                                                  \
        __attribute__((unused)) enum baton_err name##_reserve(struct name *table, size_t n)        \
    {                                                                                              \
        return baton_hash_table_reserve(&table->base, n);                                          \
    }                                                                                              \
    static inline __attribute__((unused)) void name##_fini(struct name *table)                     \
    {                                                                                              \
        baton_hash_table_fini(&table->base);                                                       \
    }

#endif
