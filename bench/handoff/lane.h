/* Both ends of a lane (transfer.h); private to transfer.c and receive.c.
 *
 * Ownership: the lane owns all of it.
 * Threading: each part says whose it is; ho_receive is the receiving end's thread.
 * Errors:    the receiving end's first one is left in `failure`, and the sender is woken.
 */
#ifndef BATON_BENCH_HANDOFF_LANE_H
#define BATON_BENCH_HANDOFF_LANE_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench/handoff/transfer.h"
#include "common/base/doorbell.h"
#include "common/wire/link.h"
#include "engine/system/reserve.h"

/* What either side listens on and speaks through. */
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
    const uint8_t *seen;           /* from, as the receiver has mapped it */
    struct baton_reserve *reserve; /* of from */
    size_t n_bytes;                /* of either */
    bool shares;
    pthread_t thread;
    bool has_thread;
    atomic_bool stopping;

    /* sending, this transfer */
    uint64_t sent_bytes, acked_bytes, credit_bytes;
    uint32_t n_chunks;
    bool complete;

    /* receiving, this transfer */
    uint64_t received_bytes, told_bytes;
    double crc_s;

    /* the receiver's, for the sender to see once it was told that the transfer is complete */
    atomic_int_least64_t received_ns;
    _Atomic double received_crc_s;
    atomic_int failure;
};

/* Of a block, in any of these. */
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

/* arg: the lane. Copies and acknowledges the chunks that arrive, until the lane is stopping. */
void *ho_receive(void *arg);

#endif
