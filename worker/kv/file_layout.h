/* The layout and the locks of a file of KV blocks, private to file.c and file_open.c. file.h draws
 * it.
 *
 * Ownership: plain data.
 * Threading: as file.h.
 * Errors:    a lock that another process holds: false.
 */
#ifndef BATON_WORKER_KV_FILE_LAYOUT_H
#define BATON_WORKER_KV_FILE_LAYOUT_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/base/block_hash.h"

enum { BATON_KV_FILE_VERSION = 1, BATON_KV_FILE_PAGE = 4096, BATON_KV_FILE_WAYS = 256 };

struct kv_file_head {
    char magic[8];
    uint32_t version, n_ways;
    uint64_t n_sets, block_bytes;
    struct baton_block_hash root;
};

struct kv_file_entry {
    struct baton_block_hash hash;
    int64_t used_ns; /* 0: the slot is empty */
};

struct kv_file_record {
    char magic[8];
    uint32_t version, crc; /* of this with a crc of 0, the block and the generation behind it */
    struct baton_block_hash root, hash;
    uint64_t generation, block_bytes;
};

struct baton_kv_file {
    int fd;
    struct kv_file_head head;
    struct kv_file_entry *set; /* [n_ways] scratch: the current set */
    struct iovec *pieces;      /* [pieces_capacity] scratch: the pieces of a record */
    size_t pieces_capacity;
    int64_t n_slots;
    off_t slots_at, slot_bytes;
};

/* Does not wait for other processes; the locks of one opener do not exclude each other. */
static inline bool kv_file_lock(int fd, short type, off_t start, off_t n)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = n};
    return !fcntl(fd, F_OFD_SETLK, &lock);
}

static inline uint64_t kv_file_pages(uint64_t n_bytes)
{
    return (n_bytes + BATON_KV_FILE_PAGE - 1) / BATON_KV_FILE_PAGE * BATON_KV_FILE_PAGE;
}

static inline uint64_t kv_file_slot_bytes(uint64_t block_bytes)
{
    return kv_file_pages(sizeof(struct kv_file_record) + block_bytes + sizeof(uint64_t));
}

static inline uint64_t kv_file_slots_at(uint64_t n_slots)
{
    return BATON_KV_FILE_PAGE + kv_file_pages(n_slots * sizeof(struct kv_file_entry));
}

#endif
