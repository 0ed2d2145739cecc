#include "gateway/routing/prefix_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/list.h"

struct entry {
    struct baton_block_hash hash;
    uint32_t tags[GW_PREFIX_TAGS]; /* the latest receiver comes first; 0: none */
    struct baton_hash_node in_table;
    struct baton_node in_list;
};

BATON_HASH_TABLE(entry_table, struct entry, in_table)
BATON_LIST(entry_list, struct entry, in_list)

struct gw_prefix_table {
    struct entry *entries; /* [max_blocks] */
    size_t max_blocks, n_used;
    struct entry_table table;
    struct entry_list by_age, free; /* by_age: oldest first */
};

struct gw_prefix_table *gw_prefix_table_create(size_t max_blocks)
{
    struct gw_prefix_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->max_blocks = max_blocks;
    entry_list_init(&table->by_age);
    entry_list_init(&table->free);
    table->entries = calloc(max_blocks, sizeof *table->entries);
    if (!table->entries || entry_table_reserve(&table->table, max_blocks)) {
        gw_prefix_table_destroy(table);
        return NULL;
    }
    return table;
}

void gw_prefix_table_destroy(struct gw_prefix_table *table)
{
    if (!table)
        return;
    entry_table_fini(&table->table);
    free(table->entries);
    free(table);
}

/* ---- entries ---- */

/* A block hash is a digest, so its first bits are as good as any. */
static uint64_t bits_of(const struct baton_block_hash *hash)
{
    uint64_t bits;
    memcpy(&bits, hash->bytes, sizeof bits);
    return bits;
}

static struct entry *find(const struct gw_prefix_table *table, const struct baton_block_hash *hash)
{
    struct entry *entry = entry_table_first(&table->table, bits_of(hash));
    while (entry && memcmp(&entry->hash, hash, sizeof *hash) != 0)
        entry = entry_table_next(entry);
    return entry;
}

static void drop(struct gw_prefix_table *table, struct entry *entry)
{
    entry_table_remove(&table->table, entry);
    entry_list_remove(&table->by_age, entry);
    entry_list_push_back(&table->free, entry);
}

static struct entry *insert(struct gw_prefix_table *table, const struct baton_block_hash *hash)
{
    if (!table->free.n && table->n_used < table->max_blocks)
        entry_list_push_back(&table->free, &table->entries[table->n_used++]);
    else if (!table->free.n)
        drop(table, entry_list_first(&table->by_age));
    struct entry *entry = entry_list_pop_front(&table->free);
    *entry = (struct entry){.hash = *hash};
    entry_table_put(&table->table, entry, bits_of(hash));
    return entry;
}

/* ---- tags ---- */

/* Moves the tag to the front. A new tag drops the last one when the array is full. */
static void put_tag(struct entry *entry, uint32_t tag)
{
    int i = 0;
    while (i < GW_PREFIX_TAGS - 1 && entry->tags[i] != tag)
        i++;
    memmove(entry->tags + 1, entry->tags, (size_t)i * sizeof entry->tags[0]);
    entry->tags[0] = tag;
}

static bool has_tag(const struct entry *entry, uint32_t tag)
{
    for (int i = 0; i < GW_PREFIX_TAGS; i++)
        if (entry->tags[i] == tag)
            return true;
    return false;
}

static void remove_tag(struct entry *entry, uint32_t tag)
{
    int n = 0;
    for (int i = 0; i < GW_PREFIX_TAGS; i++)
        if (entry->tags[i] != tag)
            entry->tags[n++] = entry->tags[i];
    while (n < GW_PREFIX_TAGS)
        entry->tags[n++] = 0;
}

/* ---- prompts ---- */

static void note(struct gw_prefix_table *table, const struct baton_block_hash *hash, uint32_t tag)
{
    struct entry *entry = find(table, hash);
    if (entry)
        entry_list_remove(&table->by_age, entry);
    else
        entry = insert(table, hash);
    entry_list_push_back(&table->by_age, entry);
    put_tag(entry, tag);
}

void gw_prefix_table_note(struct gw_prefix_table *table, const struct baton_block_hash *hashes,
                          size_t n_hashes, uint32_t tag)
{
    size_t n = n_hashes < table->max_blocks ? n_hashes : table->max_blocks;
    /* Backwards, so that the first block becomes the newest: eviction then shortens a prompt from
     * its end, and never leaves blocks without their prefix. */
    while (n--)
        note(table, &hashes[n], tag);
}

void gw_prefix_table_note_end(struct gw_prefix_table *table, const struct baton_block_hash *hash,
                              uint32_t tag)
{
    note(table, hash, tag);
}

size_t gw_prefix_table_match(const struct gw_prefix_table *table,
                             const struct baton_block_hash *hashes, size_t n_hashes,
                             struct gw_prefix_match matches[GW_PREFIX_TAGS])
{
    size_t n = 0;
    const struct entry *entry = n_hashes ? find(table, &hashes[0]) : NULL;
    for (int i = 0; entry && i < GW_PREFIX_TAGS && entry->tags[i]; i++)
        matches[n++] = (struct gw_prefix_match){entry->tags[i], 1};
    /* A match must reach from the first block without a gap: blocks after a gap are of no use. */
    bool grew = n > 0;
    for (uint32_t k = 1; grew && k < n_hashes && (entry = find(table, &hashes[k])); k++) {
        grew = false;
        for (size_t i = 0; i < n; i++)
            if (matches[i].n_blocks == k && has_tag(entry, matches[i].tag)) {
                matches[i].n_blocks++;
                grew = true;
            }
    }
    return n;
}

static bool is_among(const struct gw_prefix_match *matches, size_t n, uint32_t tag)
{
    for (size_t i = 0; i < n; i++)
        if (matches[i].tag == tag)
            return true;
    return false;
}

size_t gw_prefix_table_match_ends(const struct gw_prefix_table *table,
                                  const struct baton_block_hash *hashes, size_t n_hashes,
                                  struct gw_prefix_match matches[GW_PREFIX_TAGS])
{
    size_t n = 0;
    for (size_t k = n_hashes; k > 0 && n < GW_PREFIX_TAGS; k--) {
        const struct entry *entry = find(table, &hashes[k - 1]);
        for (int i = 0; entry && i < GW_PREFIX_TAGS && entry->tags[i] && n < GW_PREFIX_TAGS; i++)
            if (!is_among(matches, n, entry->tags[i]))
                matches[n++] = (struct gw_prefix_match){entry->tags[i], (uint32_t)k};
    }
    return n;
}

void gw_prefix_table_forget(struct gw_prefix_table *table, uint32_t tag)
{
    for (struct entry *entry = entry_list_first(&table->by_age), *next; entry; entry = next) {
        next = entry_list_next(&table->by_age, entry); /* before drop unlinks the entry */
        remove_tag(entry, tag);
        if (!entry->tags[0])
            drop(table, entry);
    }
}
