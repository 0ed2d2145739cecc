/* The hashes of a prompt's whole KV blocks: the same hash means the same K and V, to the last bit.
 *
 *     hash 0     = SHA-256(salt     | the block's token ids, 32 bits each, little endian)[0..15]
 *     hash i > 0 = SHA-256(hash i-1 | the block's token ids)[0..15]
 *
 * A hash thus identifies its block and everything before it. The salt identifies all else that K
 * and V depend on: model, dtypes, block size, numeric class. It may also separate the prompts of
 * clients that do not share (baton_block_hash_salted). Two blocks do not get the same 128
 * bits of SHA-256 by chance, and such a pair cannot be constructed either.
 *
 * Ownership: plain data.
 * Threading: pure functions.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_COMMON_BASE_BLOCK_HASH_H
#define BATON_COMMON_BASE_BLOCK_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { BATON_BLOCK_HASH_BYTES = 16 };

struct baton_block_hash {
    uint8_t bytes[BATON_BLOCK_HASH_BYTES];
};

/* The inputs of K and V besides the tokens. Texts are as in a Hello: SHA-256 in hex, names. */
struct baton_block_salt {
    const char *config, *weights, *dtype, *kv_dtype;
    uint32_t block_tokens;
    const char *kv_layout;     /* "" for workers that name none */
    const char *numeric_class; /* likewise (engine/compute/numeric_class.c) */
};

/* Computes the hash before the first block's. */
enum baton_err baton_block_hash_root(const struct baton_block_salt *salt,
                                     struct baton_block_hash *root) BATON_MUST_CHECK;

/* Computes the root of prompts with a salt of n bytes, 0 or BATON_BLOCK_HASH_BYTES: they share no
 * block with prompts of another salt or of none. With n 0 it is the root itself. */
enum baton_err baton_block_hash_salted(const struct baton_block_hash *root, const uint8_t *salt,
                                       size_t n, struct baton_block_hash *salted) BATON_MUST_CHECK;

/* Returns the number of a prompt's blocks that have a hash: the whole ones except that of the last
 * token, which is always computed because its logits are needed. */
static inline size_t baton_block_hash_count(size_t n_tokens, size_t block_tokens)
{
    return n_tokens ? (n_tokens - 1) / block_tokens : 0;
}

/* Computes hashes [n_hashes] of tokens [n_hashes * block_tokens]. */
enum baton_err baton_block_hash_tokens(const struct baton_block_hash *root, const uint32_t *tokens,
                                       size_t block_tokens, struct baton_block_hash *hashes,
                                       size_t n_hashes) BATON_MUST_CHECK;

#endif
