/* Tokens by their text; for engine/checkpoint and engine/tokenizer.
 *
 * An open-addressed table at most half full. Its hashes have a key of their own, so no vocabulary
 * makes searches long. Texts are compared only where the hashes agree.
 *
 * Ownership: the struct is embedded and owns the table; texts are borrowed and must outlive it.
 * Threading: filled by one thread, read-only after.
 * Errors:    init: NO_MEMORY.
 */
#ifndef BATON_ENGINE_CHECKPOINT_TOKEN_INDEX_H
#define BATON_ENGINE_CHECKPOINT_TOKEN_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/keyed_hash.h"

struct baton_token_entry {
    const char *text; /* NULL: a free slot */
    uint32_t n_bytes, id, hash;
};

struct baton_token_index {
    struct baton_token_entry *entries;
    size_t n_slots; /* a power of two */
    struct baton_hash_key key;
};

/* Room for n_tokens. */
enum baton_err baton_token_index_init(struct baton_token_index *index,
                                      size_t n_tokens) BATON_MUST_CHECK;
void baton_token_index_fini(struct baton_token_index *index);

/* A text given twice keeps the later id. */
void baton_token_index_put(struct baton_token_index *index, const char *text, size_t n,
                           uint32_t id);

/* BATON_NO_TOKEN when there is none. An index that was zeroed has none. */
uint32_t baton_token_index_get(const struct baton_token_index *index, const char *text, size_t n);

#endif
