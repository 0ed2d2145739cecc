/* The names of a prompt's whole KV blocks: the same name means the same K and V, to the last bit.
 *
 *     key 0     = SHA-256(salt     | the block's token ids, 32 bits each, little endian)[0..15]
 *     key i > 0 = SHA-256(key i-1  | the block's token ids)[0..15]
 *
 * A key thus stands for its block and everything before it. The salt stands for all else that K and
 * V depend on: model, dtypes, block size. 128 bits of SHA-256 are not met by chance, nor on
 * purpose.
 *
 * Ownership: plain data.
 * Threading: pure functions.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_BASE_BLOCK_KEYS_H
#define BATON_BASE_BLOCK_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { BATON_BLOCK_KEY_BYTES = 16 };

struct baton_block_key {
    uint8_t bytes[BATON_BLOCK_KEY_BYTES];
};

/* What K and V depend on besides the tokens. Texts as a Hello carries them: SHA-256 in hex, names.
 */
struct baton_block_salt {
    const char *config, *weights, *dtype, *kv_dtype;
    uint32_t block_tokens;
};

/* The key before the first block's. */
enum baton_err baton_block_key_root(const struct baton_block_salt *salt,
                                    struct baton_block_key *root) BATON_MUST_CHECK;

/* How many blocks of a prompt have a key: the whole ones, but for that of the last token, which is
 * always computed because its logits are wanted. */
static inline size_t baton_block_keys_of(size_t n_tokens, size_t block_tokens)
{
    return n_tokens ? (n_tokens - 1) / block_tokens : 0;
}

/* keys [n_keys] of tokens [n_keys * block_tokens]. */
enum baton_err baton_block_keys(const struct baton_block_key *root, const uint32_t *tokens,
                                size_t block_tokens, struct baton_block_key *keys,
                                size_t n_keys) BATON_MUST_CHECK;

#endif
