/* The prefix cache's second level: blocks of finished prompts go to a file, and are read again for
 * a prompt with the same prefix (worker/kv/file.h).
 *
 *     load: the job waits --read into its blocks--> over: end_load, it begins behind what was read
 *     save: a job is over --its blocks are held until written--> given back
 *
 * A thread of its own reads and writes, so neither the main thread nor the engine waits for a disk.
 * Loads come before saves. A load reads only while that is faster than computing, by the measured
 * rates. Where layers keep states, what is read ends with one, and a prompt's states that memory
 * has are written behind its blocks. Saves are dropped when prompts need their blocks and the disk
 * is slow. A disk that is full or fails is not written for a minute, and serving continues.
 *
 * Ownership: a disk borrows the pool; it holds the blocks of a save until give_back.
 * Threading: main thread; the disk's own thread touches blocks of a sequence between load or save
 *            and its end.
 * Errors:    create: INVALID: the options, the directory or a file in it. A file that cannot be
 *            used now is logged, and *disk is NULL.
 */
#ifndef BATON_WORKER_KV_DISK_H
#define BATON_WORKER_KV_DISK_H

#include <stdatomic.h>

#include "common/base/list.h"
#include "common/base/options/config.h"
#include "worker/kv/prefix_cache.h"
#include "worker/kv/report.h"

struct baton_kv_disk;

struct baton_kv_disk_options {
    const char *dir; /* "": none */
    int64_t bytes;
};

/* Rows of a worker's option table; in is the struct baton_kv_disk_options inside its struct. */
#define BATON_KV_DISK_OPTIONS(type, in)                                                            \
    BATON_ROW_TEXT(type, in.dir, "kv-disk", "",                                                    \
                   "directory for KV blocks of earlier prompts that do not fit in memory; "        \
                   "workers of one host and user may share it; \"\": none"),                       \
        BATON_ROW_INT(type, in.bytes, "kv-disk-bytes", "17179869184", 1, 1LL << 48, "bytes",       \
                      "most bytes of files in --kv-disk")

/* One load. Zeroed: none. The caller may change it when it is over. */
struct baton_kv_load {
    struct baton_node in_loads;
    struct baton_seq *seq; /* blocks n_shared.. and a state are read; nobody else uses them */
    const struct baton_block_hash *hashes; /* [n_hashes] of its blocks from the first on */
    int n_hashes;
    double tokens_per_s;         /* that computing makes; 0: not known */
    const atomic_bool *canceled; /* ends it early */
    int n_loaded;                /* blocks, once it is over */
    atomic_bool is_over;
};

struct baton_kv_disk_stats {
    uint64_t hit_tokens; /* read, and so not computed */
    uint64_t read_bytes, written_bytes;
    double read_s, write_s; /* spent on these */
    uint64_t evictions;     /* blocks that were replaced in the file */
    uint64_t dropped;       /* blocks that were not written: the disk was slow, full or in use */
    uint64_t errors;        /* reads and writes that failed; damaged blocks */
};

/* wake: called on the disk's thread when a load or a save is over. */
enum baton_err baton_kv_disk_create(const struct baton_kv_disk_options *options,
                                    const struct baton_prefix_cache *cache, void (*wake)(void *arg),
                                    void *wake_arg, struct baton_kv_disk **disk,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* Waits for the current block, and gives all blocks back. NULL is harmless. */
void baton_kv_disk_destroy(struct baton_kv_disk *disk);

/* Begins to read the blocks of the sequence's hashes behind its shared blocks. seq, hashes,
 * n_hashes, tokens_per_s and canceled are set; load and everything it points to stay until it is
 * over. */
void baton_kv_disk_load(struct baton_kv_disk *disk, struct baton_kv_load *load);

/* Takes over what a load that is over has read: the sequence may begin behind it. */
void baton_kv_disk_end_load(struct baton_kv_disk *disk, struct baton_kv_load *load);

/* Takes the registered blocks of seq and the hashes of prefix, to write those that the file does
 * not have. Both are empty afterwards. tokens_per_s: as for a load. */
void baton_kv_disk_save(struct baton_kv_disk *disk, struct baton_seq *seq,
                        struct baton_prefix *prefix, double tokens_per_s, int64_t now_ns);

/* Gives back the blocks of saves that are over. */
void baton_kv_disk_give_back(struct baton_kv_disk *disk);

/* Called while prompts wait for free blocks: drops the saves that have taken more than a twentieth
 * of the time of computing their blocks. Returns when the next one will have; INT64_MAX: there is
 * none. */
int64_t baton_kv_disk_drop_slow_saves(struct baton_kv_disk *disk, int64_t now_ns);

/* Whether there is nothing left to write or to give back. */
bool baton_kv_disk_is_idle(const struct baton_kv_disk *disk);

/* Adds the blocks that saves hold to the account: they count as cached. */
void baton_kv_disk_report(struct baton_kv_disk *disk, struct baton_kv_report *report);

struct baton_kv_disk_stats baton_kv_disk_stats(struct baton_kv_disk *disk);

#endif
