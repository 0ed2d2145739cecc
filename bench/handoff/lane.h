/* Both ends of a lane (transfer.h); private to transfer.c and receive.c.
 *
 * Ownership: the lane owns all of it.
 * Threading: each group of members names its owner; ho_receive is the receiving end's thread.
 * Errors:    the receiving end leaves its first error in `failure`, and wakes the sender.
 */
#ifndef BATON_BENCH_HANDOFF_LANE_H
#define BATON_BENCH_HANDOFF_LANE_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench/handoff/transfer.h"
#include "common/base/doorbell.h"
#include "common/wire/link.h"
#include "engine/system/reserve.h"

/* The inbox and the link of one side. */
struct ho_end {
    struct baton_doorbell bell;
    struct baton_inbox *inbox;
    struct baton_link *link;
    uint64_t epoch;
};

struct ho_lane {
    struct ho_geometry geometry;
    struct ho_end sender, receiver;
    uint8_t *from, *to;            /* [L][max_blocks] blocks */
    const uint8_t *seen;           /* `from` as the receiver has mapped it */
    struct baton_reserve *reserve; /* memory of `from` */
    size_t n_bytes;                /* of `from` and of `to` */
    bool shares;
    pthread_t thread;
    bool has_thread;
    atomic_bool stopping;

    /* sender, current transfer */
    uint64_t sent_bytes, acked_bytes, credit_bytes;
    uint32_t n_chunks;
    bool complete;

    /* receiver, current transfer */
    uint64_t received_bytes, reported_bytes;
    double crc_s;

    /* set by the receiver; the sender reads it once the transfer is acknowledged as complete */
    atomic_int_least64_t received_ns;
    _Atomic double received_crc_s;
    atomic_int failure;
};

/* Returns the offset of a block in any of these memories. */
static inline size_t ho_offset_of(const struct ho_lane *lane, int layer, int block)
{
    size_t index = (size_t)layer * (size_t)lane->geometry.max_blocks + (size_t)block;
    return index * lane->geometry.block_bytes;
}

static inline uint8_t *ho_block_at(const struct ho_lane *lane, uint8_t *blocks, int layer,
                                   int block)
{
    return blocks + ho_offset_of(lane, layer, block);
}

/* Runs the receiving end of the lane arg: copies and acknowledges chunks until the lane is
 * stopping. */
void *ho_receive(void *arg);

#endif
