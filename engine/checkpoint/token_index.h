/* An index of tokens by their text; for engine/checkpoint and engine/tokenizer. */
#ifndef BATON_ENGINE_CHECKPOINT_TOKEN_INDEX_H
#define BATON_ENGINE_CHECKPOINT_TOKEN_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/hash.h"

struct baton_token_entry {
    const char *text; /* NULL: a free slot */
    uint32_t n_bytes, id, hash;
};

struct baton_token_index {
    struct baton_token_entry *entries;
    size_t n_slots; /* a power of two */
};

/* Reserves space for n_tokens. */
enum baton_err baton_token_index_init(struct baton_token_index *index,
                                      size_t n_tokens) BATON_MUST_CHECK;
void baton_token_index_fini(struct baton_token_index *index);

/* Adds a text. A text given twice keeps the later id. */
void baton_token_index_put(struct baton_token_index *index, const char *text, size_t n,
                           uint32_t id);

/* Returns BATON_NO_TOKEN when the text is absent. A zeroed index is empty. */
uint32_t baton_token_index_get(const struct baton_token_index *index, const char *text, size_t n);

#endif
