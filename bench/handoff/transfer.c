#include "bench/handoff/transfer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/bench.h"
#include "bench/handoff/lane.h"
#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/base/ticket.h"
#include "common/wire/handoff.h"

enum { MAX_RUNS = 101, BLOCK_TOKENS = 16, MAX_QUEUED = 64 };

/* ---- the sending end, which works like worker/kv/send.c ---- */

static enum baton_err send(const struct ho_lane *lane, baton_envelope *envelope,
                           const void *payload, size_t n)
{
    envelope->request_id = envelope->attempt = 1;
    return baton_link_send(lane->sender.link, envelope, payload, n);
}

static enum baton_err send_begin(const struct ho_lane *lane, int n_blocks)
{
    static const char layout[] = "0000000000000000000000000000000000000000000000000000000000000000";
    uint8_t ticket[BATON_TICKET_BYTES] = {0};
    Baton__V1__KvBegin begin = BATON__V1__KV_BEGIN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    begin.reply_url = baton_envelope_text(baton_inbox_url(lane->sender.inbox));
    begin.n_layers = (uint32_t)lane->geometry.n_layers;
    begin.n_tokens = (uint32_t)n_blocks * BLOCK_TOKENS;
    begin.block_tokens = BLOCK_TOKENS;
    begin.total_bytes = begin.n_layers * (uint64_t)n_blocks * (uint64_t)lane->geometry.block_bytes;
    begin.kv_dtype = baton_envelope_text("f32");
    /* No worker is at the other end, but every message passes the checks of the wire. */
    begin.kv_layout = baton_envelope_text(layout);
    begin.ticket = (ProtobufCBinaryData){.len = sizeof ticket, .data = ticket};
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    envelope.kv_begin = &begin;
    return send(lane, &envelope, NULL, 0);
}

static enum baton_err send_end(const struct ho_lane *lane)
{
    Baton__V1__KvEnd end = BATON__V1__KV_END__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    end.total_bytes = lane->sent_bytes;
    end.n_chunks = lane->n_chunks;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_END;
    envelope.kv_end = &end;
    return send(lane, &envelope, NULL, 0);
}

static enum baton_err receive_acks(struct ho_lane *lane)
{
    struct baton_message message;
    enum baton_err err = (enum baton_err)atomic_load(&lane->failure);
    while (!err && baton_inbox_take(lane->sender.inbox, &message)) {
        const baton_envelope *envelope = message.envelope;
        if (baton_link_accept(lane->sender.link, envelope, baton_now_ns()) ||
            envelope->body_case != BATON__V1__ENVELOPE__BODY_KV_ACK) {
            err = BATON_PEER;
        } else {
            baton_inbox_admit(lane->sender.inbox, &message);
            lane->acked_bytes = envelope->kv_ack->offset;
            lane->credit_bytes = envelope->kv_ack->credit_bytes;
            lane->complete |= envelope->kv_ack->complete;
        }
        baton_message_fini(&message);
    }
    return err;
}

static bool has_credit(const struct ho_lane *lane)
{
    return lane->sent_bytes < lane->acked_bytes + lane->credit_bytes;
}

static bool is_complete(const struct ho_lane *lane)
{
    return lane->complete;
}

static enum baton_err await(struct ho_lane *lane, bool (*condition)(const struct ho_lane *lane))
{
    int64_t until_ns = baton_now_ns() + HO_PATIENCE_S * BATON_SECOND, now_ns;
    enum baton_err err;
    while (!(err = receive_acks(lane)) && !condition(lane) && (now_ns = baton_now_ns()) < until_ns)
        baton_doorbell_wait(&lane->sender.bell, until_ns - now_ns);
    return err ? err : condition(lane) ? BATON_OK : BATON_TIMEOUT;
}

static enum baton_err send_chunk(struct ho_lane *lane, int layer, int block, int n_blocks)
{
    Baton__V1__KvChunk chunk = BATON__V1__KV_CHUNK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    size_t n_bytes = (size_t)n_blocks * lane->geometry.block_bytes;
    enum baton_err err = await(lane, has_credit);
    chunk.offset = lane->sent_bytes;
    chunk.layer = (uint32_t)layer;
    chunk.first_block = (uint32_t)block;
    chunk.n_blocks = (uint32_t)n_blocks;
    Baton__V1__KvPlace place = BATON__V1__KV_PLACE__INIT;
    place.block = (uint32_t)block;
    chunk.place = lane->shares ? &place : NULL;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    envelope.kv_chunk = &chunk;
    if (!err)
        err = send(lane, &envelope, ho_block_at(lane, lane->from, layer, block),
                   lane->shares ? 0 : n_bytes);
    lane->sent_bytes += n_bytes;
    lane->n_chunks++;
    return err;
}

static enum baton_err send_blocks(struct ho_lane *lane, int n_blocks, int max_blocks)
{
    enum baton_err err = BATON_OK;
    for (int layer = 0; layer < lane->geometry.n_layers; layer++)
        for (int block = 0; block < n_blocks && !err; block += max_blocks) {
            int n_left = n_blocks - block;
            err = send_chunk(lane, layer, block, n_left < max_blocks ? n_left : max_blocks);
        }
    return err;
}

static bool is_equal(const struct ho_lane *lane, int n_blocks)
{
    for (int layer = 0; layer < lane->geometry.n_layers; layer++)
        if (memcmp(ho_block_at(lane, lane->from, layer, 0), ho_block_at(lane, lane->to, layer, 0),
                   (size_t)n_blocks * lane->geometry.block_bytes) != 0)
            return false;
    return true;
}

/* Clears the receiver's blocks, so that the last transfer's data cannot pass for this one's. */
static void clear_received(struct ho_lane *lane, int n_blocks)
{
    for (int layer = 0; layer < lane->geometry.n_layers; layer++)
        memset(ho_block_at(lane, lane->to, layer, 0), 0,
               (size_t)n_blocks * lane->geometry.block_bytes);
}

enum baton_err ho_lane_send(struct ho_lane *lane, int n_blocks, size_t chunk_bytes,
                            struct ho_times *times, struct baton_why *why)
{
    size_t max_blocks = chunk_bytes / lane->geometry.block_bytes;
    clear_received(lane, n_blocks);
    lane->sent_bytes = lane->acked_bytes = lane->n_chunks = 0;
    lane->credit_bytes = BATON_HANDOFF_FIRST_CREDIT_BYTES; /* until the first acknowledgement */
    lane->complete = false;
    int64_t begin_ns = baton_now_ns();
    enum baton_err err = send_begin(lane, n_blocks);
    if (!err)
        err = send_blocks(lane, n_blocks, max_blocks ? (int)max_blocks : 1);
    if (!err)
        err = send_end(lane);
    if (!err)
        err = await(lane, is_complete);
    if (!err && !is_equal(lane, n_blocks))
        err = BATON_CORRUPT;
    if (err)
        return baton_fail(why, err, "a hand-off of %d blocks: %s", n_blocks, baton_err_text(err));
    *times =
        (struct ho_times){.transfer_s = baton_seconds(atomic_load(&lane->received_ns) - begin_ns),
                          .crc_s = atomic_load(&lane->received_crc_s),
                          .n_bytes = lane->sent_bytes,
                          .n_chunks = lane->n_chunks};
    return BATON_OK;
}

enum baton_err ho_lane_measure(struct ho_lane *lane, int n_blocks, size_t chunk_bytes, int n_runs,
                               struct ho_times *times, struct baton_why *why)
{
    double transfers_s[MAX_RUNS], crcs_s[MAX_RUNS];
    struct ho_times run;
    if (n_runs > MAX_RUNS)
        n_runs = MAX_RUNS;
    enum baton_err err = ho_lane_send(lane, n_blocks, chunk_bytes, &run, why);
    for (int i = 0; i < n_runs && !err; i++) {
        err = ho_lane_send(lane, n_blocks, chunk_bytes, &run, why);
        transfers_s[i] = run.transfer_s;
        crcs_s[i] = run.crc_s;
    }
    if (err)
        return err;
    *times = run;
    times->transfer_s = cli_median(transfers_s, n_runs);
    times->crc_s = cli_median(crcs_s, n_runs);
    return BATON_OK;
}

void ho_lane_share(struct ho_lane *lane, bool shares)
{
    lane->shares = shares;
}

/* ---- open and close ---- */

static enum baton_err open_end(struct ho_end *end, struct baton_why *why)
{
    enum baton_err err = baton_doorbell_init(&end->bell);
    end->epoch = baton_random_id();
    if (err)
        return baton_fail(why, err, "no event descriptor");
    return baton_inbox_open(&(struct baton_inbox_options){.url = "tcp://127.0.0.1:0",
                                                          .max_queued = MAX_QUEUED,
                                                          .wake = baton_doorbell_ring,
                                                          .wake_arg = &end->bell},
                            &end->inbox, why);
}

static void close_link(struct ho_end *end)
{
    if (end->link) {
        baton_link_close(end->link);
        baton_link_release(end->link);
    }
    end->link = NULL;
}

static void close_end(struct ho_end *end)
{
    baton_inbox_close(end->inbox);
    if (end->bell.fd >= 0)
        baton_doorbell_fini(&end->bell);
}

static enum baton_err reserve(struct ho_lane *lane, struct baton_why *why)
{
    size_t n_blocks = (size_t)lane->geometry.n_layers * (size_t)lane->geometry.max_blocks, n_bytes;
    if (__builtin_mul_overflow(n_blocks, lane->geometry.block_bytes, &n_bytes) ||
        baton_reserve_create_shared(n_bytes, &lane->reserve) || !(lane->to = malloc(n_bytes)))
        return baton_fail(why, BATON_NO_MEMORY, "no memory for two contexts of %d blocks",
                          lane->geometry.max_blocks);
    lane->n_bytes = n_bytes;
    lane->from = baton_reserve_memory(lane->reserve);
    void *seen = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, baton_reserve_fd(lane->reserve), 0);
    if (seen == MAP_FAILED)
        return baton_fail(why, BATON_NO_MEMORY, "no memory to map a context");
    lane->seen = seen;
    /* No byte is 0, which cleared blocks hold. */
    for (size_t i = 0; i < n_bytes; i++)
        lane->from[i] = (uint8_t)(i * 2654435761U >> 13 | 1);
    return BATON_OK;
}

static enum baton_err open_link(struct ho_lane *lane, struct baton_why *why)
{
    return baton_link_open(
        &(struct baton_link_options){.url = baton_inbox_url(lane->receiver.inbox),
                                     .local_epoch = lane->sender.epoch,
                                     .peer_epoch = lane->receiver.epoch,
                                     .wake = baton_doorbell_ring,
                                     .wake_arg = &lane->sender.bell},
        &lane->sender.link, why);
}

enum baton_err ho_lane_open(const struct ho_geometry *geometry, struct ho_lane **out,
                            struct baton_why *why)
{
    struct ho_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return BATON_NO_MEMORY;
    lane->geometry = *geometry;
    lane->sender.bell.fd = lane->receiver.bell.fd = -1;
    enum baton_err err = reserve(lane, why);
    if (!err)
        err = open_end(&lane->sender, why);
    if (!err)
        err = open_end(&lane->receiver, why);
    if (!err && pthread_create(&lane->thread, NULL, ho_receive, lane))
        err = baton_fail(why, BATON_IO, "no thread for the receiving end");
    lane->has_thread = !err;
    if (!err)
        err = open_link(lane, why);
    if (err)
        ho_lane_close(lane);
    else
        *out = lane;
    return err;
}

void ho_lane_close(struct ho_lane *lane)
{
    if (!lane)
        return;
    /* The thread ends before the links and inboxes that it uses are closed. */
    if (lane->has_thread) {
        atomic_store(&lane->stopping, true);
        baton_doorbell_ring(&lane->receiver.bell);
        pthread_join(lane->thread, NULL);
    }
    close_link(&lane->sender);
    close_link(&lane->receiver);
    close_end(&lane->sender);
    close_end(&lane->receiver);
    if (lane->seen)
        (void)munmap((void *)(uintptr_t)lane->seen, lane->n_bytes);
    baton_reserve_destroy(lane->reserve);
    free(lane->to);
    free(lane);
}
