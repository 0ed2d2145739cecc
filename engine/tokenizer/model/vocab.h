/* The bytes of every token id, for decoding; private to engine/tokenizer.
 *
 * Ids run from 0 to n_tokens - 1, with gaps where no token has the id. All tokens' bytes lie in one
 * block, so a vocabulary is two allocations.
 *
 * Ownership: the struct is embedded and owns both blocks.
 * Threading: filled by one thread, read-only after.
 * Errors:    reserve: LIMIT, NO_MEMORY. put: INVALID (the id is taken), LIMIT, NO_MEMORY.
 */
#ifndef BATON_ENGINE_TOKENIZER_MODEL_VOCAB_H
#define BATON_ENGINE_TOKENIZER_MODEL_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "engine/checkpoint/tokenizer_tables.h"

struct baton_vocab_token {
    uint32_t offset; /* into bytes; BATON_NO_TOKEN marks a gap */
    uint32_t n_bytes : 30;
    uint32_t special : 1;
    uint32_t keeps_space : 1; /* its first space is its own, not made by a decoder */
};

struct baton_vocab {
    struct baton_vocab_token *tokens;
    size_t n_tokens;
    struct baton_buf bytes;
    size_t longest_bytes;
};

/* Makes an empty vocabulary; fini frees its tokens. */
void baton_vocab_init(struct baton_vocab *vocab);
void baton_vocab_fini(struct baton_vocab *vocab);

/* Makes ids 0 .. n_tokens - 1 valid for put. Never shrinks. */
enum baton_err baton_vocab_reserve(struct baton_vocab *vocab, size_t n_tokens) BATON_MUST_CHECK;

/* Gives id (below n_tokens) its n bytes. */
enum baton_err baton_vocab_put(struct baton_vocab *vocab, uint32_t id, const char *bytes,
                               size_t n) BATON_MUST_CHECK;

/* Returns NULL for an id without a token. */
const char *baton_vocab_bytes(const struct baton_vocab *vocab, uint32_t id, size_t *n);

#endif
