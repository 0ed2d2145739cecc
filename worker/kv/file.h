/* KV blocks in a file, under their block hashes: the part of the prefix cache that exceeds the
 * pool.
 *
 *     page 0     magic, version, sizes, the root of the block hashes (model, dtypes, KV layout,
 *                numeric class)
 *     index      [n_sets][n_ways] of {block hash, when it was used last}
 *     slots      [n_sets * n_ways] records, each at a page's begin:
 *                header {magic, version, root, block hash, generation, length, CRC-32C},
 *                the block's layers one behind the other, the generation once more
 *
 * A hash belongs to one set, and may be in any of its slots; the least recently used one is
 * replaced first. The index is a hint: the header of a record identifies it, and its CRC covers
 * header and block. So after a crash at any point, or with a faulty disk, a record is read whole or
 * not found.
 *
 * Several processes share a file. The writer of a record holds an exclusive lock on its bytes, a
 * reader a shared one; nobody waits for a lock. The kernel drops the locks of a process that dies.
 * Every process that has the file open holds a shared lock on byte 0.
 *
 * The directory must be private to this user (0700). Its files together have at most max_bytes:
 * those of other models are removed unless a process has them open. States of a model's layers are
 * blocks of a file of their own.
 *
 * Ownership: a file belongs to its opener.
 * Threading: one thread per opener.
 * Errors:    open: INVALID: the directory, a file in it or the size is not acceptable; IO, LIMIT,
 *            NO_MEMORY: it cannot be used now. The others: see there.
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
    /* The same model may have another file in the directory, which stays and takes as much. */
    const struct baton_block_hash *beside; /* its root; NULL: there is none */
    const char *holds;                     /* "block", "state": for messages */
};

/* Makes the directory and the file if they are missing, and the file again if it has other sizes
 * and nobody has it open. A file that others have open is used as it is, if it fits max_bytes. */
enum baton_err baton_kv_file_open(const struct baton_kv_file_options *options,
                                  struct baton_kv_file **file,
                                  struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_kv_file_close(struct baton_kv_file *file);

/* The number of blocks that fit into the file. */
int64_t baton_kv_file_n_slots(const struct baton_kv_file *file);

/* The slot that the index has for the hash, or BATON_KV_NO_SLOT. */
int64_t baton_kv_file_find(struct baton_kv_file *file, const struct baton_block_hash *hash);

/* Marks the slot as used at used_ns of the wall clock, since times in the file outlive a boot. */
void baton_kv_file_touch(struct baton_kv_file *file, int64_t slot, int64_t used_ns);

/* Reads the block of that hash into the pieces, which are block_bytes together. NOT_FOUND: the slot
 * is being written, or has another block by now. CORRUPT: damaged; its entry is removed. IO. After
 * an error the contents of the pieces are undefined. */
enum baton_err baton_kv_file_read(struct baton_kv_file *file, int64_t slot,
                                  const struct baton_block_hash *hash, const struct iovec *pieces,
                                  int n_pieces) BATON_MUST_CHECK;

/* Writes a block that the index does not have, used at used_ns. *evicted: it replaced another one.
 * AGAIN: the slots that could be replaced are in use. LIMIT: the disk is full. IO. */
enum baton_err baton_kv_file_write(struct baton_kv_file *file, const struct baton_block_hash *hash,
                                   const struct iovec *pieces, int n_pieces, int64_t used_ns,
                                   bool *evicted) BATON_MUST_CHECK;

#endif
