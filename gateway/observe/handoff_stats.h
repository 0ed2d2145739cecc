/* Hand-off statistics: the cost of moving contexts between workers, of each one and in total.
 *
 *     KvBegin arrives     first token chosen     DecodeStart arrives   last block received
 *     |<----------------------------- transfer_s ------------------------------------->|
 *     |<---- overlap_s ---->|                    |<------------ exposed_s ------------>|
 *
 * The interval between them is hidden behind the first token's trip to the gateway and back. A
 * transfer that ends before DecodeStart arrives exposes nothing. One that begins after the first
 * token overlaps nothing. One that begins after DecodeStart exposes more than itself.
 *
 * Ownership: plain data.
 * Threading: loop thread.
 * Errors:    stick in the output buffer.
 */
#ifndef BATON_GATEWAY_OBSERVE_HANDOFF_STATS_H
#define BATON_GATEWAY_OBSERVE_HANDOFF_STATS_H

#include "common/base/json.h"
#include "common/obs/hist.h"
#include "gateway/request/attempt.h"

struct gw_handoff_stats {
    uint64_t n_bytes, n_shared_bytes, n_chunks;
    double crc_s, overlap_s;
    struct baton_hist transfer, exposed;
};

/* Adds a hand-off, if anything was sent. */
void gw_handoff_stats_note(struct gw_handoff_stats *handoff_stats,
                           const struct gw_handoff *handoff);

/* Writes Prometheus text. */
void gw_handoff_stats_write(const struct gw_handoff_stats *handoff_stats, struct baton_buf *out);

/* Writes the member "handoff" of an answer; null if nothing was sent. */
void gw_handoff_put(struct baton_json_out *out, const struct gw_handoff *handoff);

#endif
