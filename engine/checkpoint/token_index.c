#include "engine/checkpoint/token_index.h"

#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/tokenizer_tables.h"

enum baton_err baton_token_index_init(struct baton_token_index *index, size_t n_tokens)
{
    /* At most half full, a search by linear probing takes two or three steps. */
    index->n_slots = 16;
    while (index->n_slots / 2 < n_tokens)
        index->n_slots *= 2;
    index->entries = calloc(index->n_slots, sizeof *index->entries);
    return index->entries ? BATON_OK : BATON_NO_MEMORY;
}

void baton_token_index_fini(struct baton_token_index *index)
{
    free(index->entries);
    *index = (struct baton_token_index){0};
}

static struct baton_token_entry *find(const struct baton_token_index *index, const char *text,
                                      size_t n, uint32_t hash)
{
    size_t mask = index->n_slots - 1, i = hash & mask;
    for (;; i = (i + 1) & mask) {
        struct baton_token_entry *entry = &index->entries[i];
        if (!entry->text ||
            (entry->hash == hash && entry->n_bytes == n && !memcmp(entry->text, text, n)))
            return entry;
    }
}

void baton_token_index_put(struct baton_token_index *index, const char *text, size_t n, uint32_t id)
{
    uint32_t hash = (uint32_t)baton_hash_bytes(text, n);
    *find(index, text, n, hash) =
        (struct baton_token_entry){.text = text, .n_bytes = (uint32_t)n, .id = id, .hash = hash};
}

uint32_t baton_token_index_get(const struct baton_token_index *index, const char *text, size_t n)
{
    if (!index->n_slots)
        return BATON_NO_TOKEN;
    const struct baton_token_entry *entry =
        find(index, text, n, (uint32_t)baton_hash_bytes(text, n));
    return entry->text ? entry->id : BATON_NO_TOKEN;
}
