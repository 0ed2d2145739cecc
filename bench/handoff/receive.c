/* The receiving end, which works like worker/kv/receive.c. */
#include <string.h>

#include "bench/handoff/lane.h"
#include "common/base/clock.h"
#include "common/wire/handoff.h"

static enum baton_err acknowledge(struct ho_lane *lane, bool complete)
{
    Baton__V1__KvAck ack = BATON__V1__KV_ACK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    ack.offset = lane->reported_bytes = lane->received_bytes;
    ack.credit_bytes = BATON_HANDOFF_CREDIT_BYTES;
    ack.complete = complete;
    envelope.request_id = envelope.attempt = 1;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_ACK;
    envelope.kv_ack = &ack;
    return baton_link_send(lane->receiver.link, &envelope, NULL, 0);
}

static enum baton_err receive_chunk(struct ho_lane *lane, const struct baton_message *message)
{
    const Baton__V1__KvChunk *chunk = message->envelope->kv_chunk;
    size_t block_bytes = lane->geometry.block_bytes;
    if (chunk->offset != lane->received_bytes ||
        chunk->layer >= (uint32_t)lane->geometry.n_layers ||
        (uint64_t)chunk->first_block + chunk->n_blocks > (uint64_t)lane->geometry.max_blocks ||
        message->payload_bytes != (chunk->place ? 0 : chunk->n_blocks * block_bytes))
        return BATON_CORRUPT;
    const uint8_t *from =
        chunk->place ? lane->seen + ho_offset_of(lane, (int)chunk->layer, (int)chunk->place->block)
                     : message->payload;
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        memcpy(ho_block_at(lane, lane->to, (int)chunk->layer, (int)(chunk->first_block + i)),
               from + i * block_bytes, block_bytes);
    lane->received_bytes += chunk->n_blocks * block_bytes;
    lane->crc_s += message->crc_s;
    bool is_due = lane->received_bytes - lane->reported_bytes >= BATON_HANDOFF_ACK_EVERY_BYTES;
    return is_due ? acknowledge(lane, false) : BATON_OK;
}

static enum baton_err end_transfer(struct ho_lane *lane, const Baton__V1__KvEnd *end)
{
    if (end->total_bytes != lane->received_bytes)
        return BATON_CORRUPT;
    /* Stored before the acknowledgement: the sender reads them when it arrives. */
    atomic_store(&lane->received_crc_s, lane->crc_s);
    atomic_store(&lane->received_ns, baton_now_ns());
    return acknowledge(lane, true);
}

static enum baton_err begin_transfer(struct ho_lane *lane, const baton_envelope *envelope)
{
    struct ho_end *own = &lane->receiver;
    lane->received_bytes = lane->reported_bytes = 0;
    lane->crc_s = 0;
    if (own->link)
        return BATON_OK;
    return baton_link_open(&(struct baton_link_options){.url = envelope->kv_begin->reply_url,
                                                        .local_epoch = own->epoch,
                                                        .peer_epoch = envelope->src_epoch,
                                                        .id = envelope->link,
                                                        .wake = baton_doorbell_ring,
                                                        .wake_arg = &own->bell},
                           &own->link, NULL);
}

static enum baton_err receive(struct ho_lane *lane, const struct baton_message *message)
{
    const baton_envelope *envelope = message->envelope;
    bool begins = envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    enum baton_err err = begins ? begin_transfer(lane, envelope) : BATON_OK;
    if (!err && baton_link_accept(lane->receiver.link, envelope, baton_now_ns()))
        err = BATON_PEER;
    if (!err)
        baton_inbox_admit(lane->receiver.inbox, message);
    if (!err && envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_CHUNK)
        err = receive_chunk(lane, message);
    else if (!err && envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_END)
        err = end_transfer(lane, envelope->kv_end);
    return err;
}

void *ho_receive(void *arg)
{
    struct ho_lane *lane = arg;
    struct baton_message message;
    while (!atomic_load(&lane->stopping)) {
        while (baton_inbox_take(lane->receiver.inbox, &message)) {
            enum baton_err err = receive(lane, &message);
            baton_message_fini(&message);
            if (err) {
                atomic_store(&lane->failure, (int)err);
                baton_doorbell_ring(&lane->sender.bell);
            }
        }
        baton_doorbell_wait(&lane->receiver.bell, -1);
    }
    return NULL;
}
