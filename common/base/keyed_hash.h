/* Hashes for tables whose keys come from a file or a client: with a random hash key nobody can
 * construct texts that share a slot.
 *
 * Two words are multiplied to 128 bits and folded, as in wyhash (Wang Yi, 2019). It is not
 * cryptographic.
 *
 * Ownership: plain data.
 * Threading: pure, except for the key, which the kernel draws.
 * Errors:    none.
 */
#ifndef BATON_COMMON_BASE_KEYED_HASH_H
#define BATON_COMMON_BASE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/random.h"

struct baton_hash_key {
    uint64_t words[2];
};

/* Draws a new key at each call. */
static inline struct baton_hash_key baton_hash_key_draw(void)
{
    return (struct baton_hash_key){{baton_random_id(), baton_random_id()}};
}

/* Hashes two words. */
static inline uint64_t baton_hash_pair(const struct baton_hash_key *key, uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(a ^ key->words[0]) * (b ^ key->words[1]);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hashes n bytes. */
static inline uint64_t baton_hash_bytes(const struct baton_hash_key *key, const char *bytes,
                                        size_t n)
{
    uint64_t hash = n, word;
    for (; n >= sizeof word; n -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = baton_hash_pair(key, hash, word);
    }
    word = 0;
    memcpy(&word, bytes, n);
    return baton_hash_pair(key, hash, word);
}

#endif
