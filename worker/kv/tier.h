/* The blocks of one class in a file (file.h): K and V of all positions, or states.
 *
 * The file of states has a root of its own, made of that of the blocks.
 *
 * Ownership: owns the file; borrows the pool.
 * Threading: one thread.
 * Errors:    open: as baton_kv_file_open, and NO_MEMORY. The others: see there.
 */
#ifndef BATON_WORKER_KV_TIER_H
#define BATON_WORKER_KV_TIER_H

#include "worker/kv/file.h"
#include "worker/kv/prefix_cache.h"

/* Zeroed: the model has no blocks of the class, and the file none. */
struct baton_kv_tier {
    struct baton_kv *kv;
    struct baton_kv_file *file;
    const int *layers; /* [n_layers], the pool's */
    int n_layers;
    size_t block_bytes;
    struct iovec *pieces; /* [n_layers] */
};

/* max_bytes: of all files in the directory, which both tiers of a model share equally. */
enum baton_err baton_kv_tier_open(const char *dir, int64_t max_bytes,
                                  const struct baton_prefix_cache *cache, bool of_states,
                                  struct baton_kv_tier *tier,
                                  struct baton_why *why) BATON_MUST_CHECK;
void baton_kv_tier_close(struct baton_kv_tier *tier);

/* Whether the file's index has the hash. */
bool baton_kv_tier_has(struct baton_kv_tier *tier, const struct baton_block_hash *hash);

/* Reads the block of that hash into block `block` of the sequence, and notes its use. NOT_FOUND;
 * others as baton_kv_file_read. */
enum baton_err baton_kv_tier_read(struct baton_kv_tier *tier, const struct baton_block_hash *hash,
                                  const struct baton_seq *seq, int block,
                                  int64_t used_ns) BATON_MUST_CHECK;

/* Writes the sequence's block; errors as baton_kv_file_write. */
enum baton_err baton_kv_tier_write(struct baton_kv_tier *tier, const struct baton_block_hash *hash,
                                   const struct baton_seq *seq, int block, int64_t used_ns,
                                   bool *evicted) BATON_MUST_CHECK;

/* Notes the use of the block if the file has it; false: it has not. */
bool baton_kv_tier_touch(struct baton_kv_tier *tier, const struct baton_block_hash *hash,
                         int64_t used_ns);

#endif
