/* The prefix table maps a block's hash to the workers that were sent a prompt with this block: the
 * basis of prefix-aware routing.
 *
 * The table guesses, because a worker may have dropped a block since. It is bounded: it evicts the
 * least recently sent hash, and the last block of a prompt before the first, so that the rest of
 * the prompt is always a prefix. A hash remembers the last GW_PREFIX_TAGS workers. A worker's tag
 * numbers one life of the worker, so a restarted worker is not mistaken for the one that died.
 *
 * Ownership: the table owns its memory and allocates all of it in create.
 * Threading: one owner at a time.
 * Errors:    create: NULL without memory. The rest cannot fail.
 */
#ifndef BATON_GATEWAY_ROUTING_PREFIX_TABLE_H
#define BATON_GATEWAY_ROUTING_PREFIX_TABLE_H

#include "common/base/block_hash.h"

enum { GW_PREFIX_TAGS = 4, GW_PREFIX_MAX_BLOCKS = 1 << 26 };

struct gw_prefix_table;

/* The first n_blocks of the prompt were sent to that worker. */
struct gw_prefix_match {
    uint32_t tag;
    uint32_t n_blocks;
};

/* max_blocks: 1..GW_PREFIX_MAX_BLOCKS. */
struct gw_prefix_table *gw_prefix_table_create(size_t max_blocks);
void gw_prefix_table_destroy(struct gw_prefix_table *table); /* NULL is fine */

/* Records that a prompt with these blocks goes to the worker; tag is not 0. */
void gw_prefix_table_note(struct gw_prefix_table *table, const struct baton_block_hash *hashes,
                          size_t n_hashes, uint32_t tag);

/* Finds the workers that have at least the first block, and returns their number. */
size_t gw_prefix_table_match(const struct gw_prefix_table *table,
                             const struct baton_block_hash *hashes, size_t n_hashes,
                             struct gw_prefix_match matches[GW_PREFIX_TAGS]);

/* The same for a model whose layers keep a state: a prompt can begin only where one was saved. A
 * table has either whole prompts or the ends of the blocks behind which a state is saved, and a
 * match is the last of these ends. */
void gw_prefix_table_note_end(struct gw_prefix_table *table, const struct baton_block_hash *hash,
                              uint32_t tag);
size_t gw_prefix_table_match_ends(const struct gw_prefix_table *table,
                                  const struct baton_block_hash *hashes, size_t n_hashes,
                                  struct gw_prefix_match matches[GW_PREFIX_TAGS]);

/* Removes the tag of a worker that died. Visits every hash. */
void gw_prefix_table_forget(struct gw_prefix_table *table, uint32_t tag);

#endif
