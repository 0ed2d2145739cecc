/* KV blocks in a file, under their block hashes: what of the prefix cache the pool has no room for.
 *
 *     page 0     magic, version, sizes, the root of the block hashes (model, dtypes, KV layout,
 *                numeric class)
 *     index      [n_sets][n_ways] of {block hash, when it was used last}
 *     slots      [n_sets * n_ways] records, each at a page's begin:
 *                header {magic, version, root, block hash, generation, length, CRC-32C},
 *                the block's layers one behind the other, the generation once more
 *
 * A hash belongs to one set, and is in any of its slots; the slot used longest ago goes first. The
 * index is a hint: what a record is, its header says, and its CRC covers header and block. So a
 * process may die anywhere, or a disk lie: a record is read whole, or counts as not there.
 *
 * Several processes share a file. Who writes a record holds a lock on its bytes, who reads one
 * shares it; nobody waits for a lock. The kernel drops the locks of a process that dies. Byte 0 is
 * locked, shared, by everybody who has the file open.
 *
 * The directory is this user's alone (0700), or refused. It holds files of this kind, and they are
 * max_bytes together at most: those of other models are removed unless a process has them open.
 *
 * Ownership: a file belongs to its opener.
 * Threading: one thread per opener.
 * Errors:    open: INVALID: the directory, a file in it or the size is not acceptable; IO, LIMIT,
 *            NO_MEMORY: it is of no use now. The others: see there.
 */
#ifndef BATON_WORKER_KV_FILE_H
#define BATON_WORKER_KV_FILE_H

#include <stdbool.h>
#include <sys/uio.h>

#include "common/base/block_hash.h"

struct baton_kv_file;

enum { BATON_KV_NO_SLOT = -1 };

struct baton_kv_file_options {
    const char *dir;
    int64_t max_bytes;
    struct baton_block_hash root;
    size_t block_bytes; /* in all layers */
};

/* Makes the directory and the file where they are missing, or anew where the file is of other sizes
 * and nobody has it open. A file that others have open is taken as it is, if it fits max_bytes. */
enum baton_err baton_kv_file_open(const struct baton_kv_file_options *options,
                                  struct baton_kv_file **file,
                                  struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_kv_file_close(struct baton_kv_file *file);

/* Blocks that it has room for. */
int64_t baton_kv_file_n_slots(const struct baton_kv_file *file);

/* The slot that the index has for the hash, or BATON_KV_NO_SLOT. */
int64_t baton_kv_file_find(struct baton_kv_file *file, const struct baton_block_hash *hash);

/* The slot was used at used_ns, by the wall clock: times outlive the machine's start. */
void baton_kv_file_touch(struct baton_kv_file *file, int64_t slot, int64_t used_ns);

/* Reads the block of that hash into the pieces, which are block_bytes together. NOT_FOUND: it is
 * being written, or another one by now. CORRUPT: damaged; the index forgets it. IO. After an error
 * the pieces hold anything. */
enum baton_err baton_kv_file_read(struct baton_kv_file *file, int64_t slot,
                                  const struct baton_block_hash *hash, const struct iovec *pieces,
                                  int n_pieces) BATON_MUST_CHECK;

/* Writes a block that the index does not have, used at used_ns. *evicted: it took the place of
 * another. AGAIN: the slots that could be taken are in use. LIMIT: the disk is full. IO. */
enum baton_err baton_kv_file_write(struct baton_kv_file *file, const struct baton_block_hash *hash,
                                   const struct iovec *pieces, int n_pieces, int64_t used_ns,
                                   bool *evicted) BATON_MUST_CHECK;

#endif
