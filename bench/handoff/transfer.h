/* A real transfer of a context between two workers: frames with their CRC over an NNG link, blocks
 * copied by the receiver, acknowledged with credit. Only the engines are missing. The blocks follow
 * their frames, or the receiver copies them out of the sender's memory (--kv-path).
 *
 * Ownership: a lane owns both of its ends, their memory and the receiving thread.
 * Threading: every call from one thread, which is the sending end; the other end has its own.
 * Errors:    TIMEOUT when nothing arrives for HO_PATIENCE_S; CORRUPT when the received blocks
 *            differ from the sent ones; otherwise those of links and inboxes.
 */
#ifndef BATON_BENCH_HANDOFF_TRANSFER_H
#define BATON_BENCH_HANDOFF_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { HO_PATIENCE_S = 30 };

struct ho_lane;

struct ho_geometry {
    int n_layers;
    size_t block_bytes; /* of one layer */
    int max_blocks;     /* of a context */
};

/* The figures of one hand-off. */
struct ho_times {
    double transfer_s; /* from sending KvBegin to receiving the last block */
    double crc_s;      /* part of it: the receiver's check */
    uint64_t n_bytes;
    uint32_t n_chunks;
};

enum baton_err ho_lane_open(const struct ho_geometry *geometry, struct ho_lane **lane,
                            struct baton_why *why) BATON_MUST_CHECK;
void ho_lane_close(struct ho_lane *lane);

/* Sets whether blocks are copied out of the sender's memory; at first they are not. */
void ho_lane_share(struct ho_lane *lane, bool shares);

/* Sends a context of n_blocks, in chunks of whole blocks of at most chunk_bytes (at least one
 * block), and compares the received blocks. */
enum baton_err ho_lane_send(struct ho_lane *lane, int n_blocks, size_t chunk_bytes,
                            struct ho_times *times, struct baton_why *why) BATON_MUST_CHECK;

/* Returns the medians of n_runs transfers, after one to warm up. */
enum baton_err ho_lane_measure(struct ho_lane *lane, int n_blocks, size_t chunk_bytes, int n_runs,
                               struct ho_times *times, struct baton_why *why) BATON_MUST_CHECK;

#endif
