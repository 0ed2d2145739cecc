#include "gateway/routing/prefix_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An entry's index starts at 1; index 0 means none. */
struct entry {
    struct baton_block_hash hash;
    uint32_t tags[GW_PREFIX_TAGS]; /* the latest receiver comes first; 0: none */
    uint32_t next;                 /* in its bucket, or in the list of free entries */
    uint32_t newer, older;
};

struct gw_prefix_table {
    struct entry *entries; /* [max_blocks + 1] */
    uint32_t *buckets;     /* [mask + 1] */
    uint32_t mask, max_blocks, n_used, first_free;
    uint32_t newest, oldest;
};

/* A power of two, for a mask instead of a division; at least one bucket per block. */
static uint32_t n_buckets_for(size_t max_blocks)
{
    uint32_t n = 1;
    while (n < max_blocks)
        n *= 2;
    return n;
}

struct gw_prefix_table *gw_prefix_table_create(size_t max_blocks)
{
    struct gw_prefix_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->max_blocks = (uint32_t)max_blocks;
    table->mask = n_buckets_for(max_blocks) - 1;
    table->entries = calloc(max_blocks + 1, sizeof *table->entries);
    table->buckets = calloc((size_t)table->mask + 1, sizeof *table->buckets);
    if (!table->entries || !table->buckets) {
        gw_prefix_table_destroy(table);
        return NULL;
    }
    return table;
}

void gw_prefix_table_destroy(struct gw_prefix_table *table)
{
    if (!table)
        return;
    free(table->entries);
    free(table->buckets);
    free(table);
}

/* ---- entries ---- */

/* A block hash is a digest, so its first bits are as good a bucket index as any. */
static uint32_t *bucket(const struct gw_prefix_table *table, const struct baton_block_hash *hash)
{
    uint32_t bits;
    memcpy(&bits, hash->bytes, sizeof bits);
    return &table->buckets[bits & table->mask];
}

static uint32_t find(const struct gw_prefix_table *table, const struct baton_block_hash *hash)
{
    uint32_t at = *bucket(table, hash);
    while (at && memcmp(&table->entries[at].hash, hash, sizeof *hash) != 0)
        at = table->entries[at].next;
    return at;
}

static void unlink_age(struct gw_prefix_table *table, uint32_t at)
{
    struct entry *entry = &table->entries[at];
    *(entry->newer ? &table->entries[entry->newer].older : &table->newest) = entry->older;
    *(entry->older ? &table->entries[entry->older].newer : &table->oldest) = entry->newer;
    entry->newer = entry->older = 0;
}

static void make_newest(struct gw_prefix_table *table, uint32_t at)
{
    struct entry *entry = &table->entries[at];
    entry->older = table->newest;
    *(table->newest ? &table->entries[table->newest].newer : &table->oldest) = at;
    table->newest = at;
}

static void drop(struct gw_prefix_table *table, uint32_t at)
{
    struct entry *entry = &table->entries[at];
    uint32_t *link = bucket(table, &entry->hash);
    while (*link != at)
        link = &table->entries[*link].next;
    *link = entry->next;
    unlink_age(table, at);
    entry->next = table->first_free;
    table->first_free = at;
}

static uint32_t take_free(struct gw_prefix_table *table)
{
    uint32_t at = table->first_free;
    if (!at && table->n_used < table->max_blocks)
        return ++table->n_used;
    if (!at) {
        drop(table, table->oldest);
        at = table->first_free;
    }
    table->first_free = table->entries[at].next;
    return at;
}

static uint32_t insert(struct gw_prefix_table *table, const struct baton_block_hash *hash)
{
    uint32_t at = take_free(table);
    uint32_t *first = bucket(table, hash);
    table->entries[at] = (struct entry){.hash = *hash, .next = *first};
    *first = at;
    return at;
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

void gw_prefix_table_note(struct gw_prefix_table *table, const struct baton_block_hash *hashes,
                          size_t n_hashes, uint32_t tag)
{
    size_t n = n_hashes < table->max_blocks ? n_hashes : table->max_blocks;
    /* Backwards, so that the first block becomes the newest: eviction then shortens a prompt from
     * its end, and never leaves blocks without their prefix. */
    while (n--) {
        uint32_t at = find(table, &hashes[n]);
        if (at)
            unlink_age(table, at);
        else
            at = insert(table, &hashes[n]);
        make_newest(table, at);
        put_tag(&table->entries[at], tag);
    }
}

size_t gw_prefix_table_match(const struct gw_prefix_table *table,
                             const struct baton_block_hash *hashes, size_t n_hashes,
                             struct gw_prefix_match matches[GW_PREFIX_TAGS])
{
    size_t n = 0;
    uint32_t at = n_hashes ? find(table, &hashes[0]) : 0;
    for (int i = 0; at && i < GW_PREFIX_TAGS && table->entries[at].tags[i]; i++)
        matches[n++] = (struct gw_prefix_match){table->entries[at].tags[i], 1};
    /* A match must reach from the first block without a gap: blocks after a gap are of no use. */
    bool grew = n > 0;
    for (uint32_t k = 1; grew && k < n_hashes && (at = find(table, &hashes[k])); k++) {
        grew = false;
        for (size_t i = 0; i < n; i++)
            if (matches[i].n_blocks == k && has_tag(&table->entries[at], matches[i].tag)) {
                matches[i].n_blocks++;
                grew = true;
            }
    }
    return n;
}

void gw_prefix_table_forget(struct gw_prefix_table *table, uint32_t tag)
{
    for (uint32_t at = table->newest, older; at; at = older) {
        older = table->entries[at].older; /* before drop unlinks the entry */
        remove_tag(&table->entries[at], tag);
        if (!table->entries[at].tags[0])
            drop(table, at);
    }
}
