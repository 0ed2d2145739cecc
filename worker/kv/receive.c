#include "worker/kv/receive.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/states.h"
#include "common/wire/handoff.h"
#include "worker/kv/receiver.h"

#define TO(state) (1u << BATON_KV_RECEIVE_##state)

/* The state diagram of the header as a table: the next states of each state. */
static const unsigned edges[BATON_KV_RECEIVE_N_STATES] = {
    [BATON_KV_RECEIVE_EXPECTED] = TO(RECEIVING), [BATON_KV_RECEIVE_RECEIVING] = TO(COMPLETE)};
static const char *const names[] = {"expected", "receiving", "complete"};
static const struct baton_states states = {.object = "kv_receive", .names = names, .edges = edges};

static void set_state(struct baton_kv_receive *receive, enum baton_kv_receive_state state)
{
    baton_states_check(&states, receive->state, state);
    receive->state = state;
}

void baton_kv_receive_expect(struct baton_kv_receive *receive, const struct baton_origin *origin,
                             struct baton_seq *seq, int n_tokens, int n_tokens_max)
{
    *receive = (struct baton_kv_receive){.origin = origin,
                                         .seq = seq,
                                         .n_tokens = n_tokens,
                                         .n_tokens_max = n_tokens_max,
                                         .first_block = seq->n_shared,
                                         .first_window = -1};
}

void baton_kv_receive_expect_part(struct baton_kv_receive *receive,
                                  const struct baton_origin *origin, struct baton_seq *seq,
                                  int first_block, int end_block,
                                  const struct baton_kv_stripes *stripes, int part)
{
    *receive = (struct baton_kv_receive){.origin = origin,
                                         .seq = seq,
                                         .n_tokens = end_block * BATON_KV_BLOCK_TOKENS,
                                         .first_block = first_block,
                                         .stripes = stripes,
                                         .part = part,
                                         .first_window = -1};
}

int baton_kv_receive_next_block(const struct baton_kv_receive *receive, int layer)
{
    if (receive->state == BATON_KV_RECEIVE_EXPECTED)
        return baton_kv_stripes_next(receive->stripes, receive->part, receive->first_block,
                                     baton_kv_blocks_for(receive->n_tokens));
    return (int)receive->arrival.next_block[layer];
}

static void leave_sender(struct baton_kv_receive *receive)
{
    if (receive->sender)
        baton_kv_receive_list_remove(&receive->sender->receives, receive);
    receive->sender = NULL;
}

void baton_kv_receive_fini(struct baton_kv_receive *receive)
{
    leave_sender(receive);
    baton_kv_arrival_fini(&receive->arrival);
}

static void fail_with(const struct baton_kv_receiver *receiver, struct baton_kv_receive *receive,
                      Baton__V1__Failed__Code code, const char *message)
{
    leave_sender(receive);
    baton_origin_fail(receive->origin, code, message);
    receiver->options.failed(receiver->options.arg, receive);
}

void baton_kv_receive_lose(const struct baton_kv_receiver *receiver,
                           struct baton_kv_receive *receive, const char *message)
{
    fail_with(receiver, receive, BATON__V1__FAILED__CODE__CONTEXT_LOST, message);
}

static void send_ack(const struct baton_kv_remote *remote, struct baton_kv_receive *receive,
                     bool complete)
{
    Baton__V1__KvAck ack = BATON__V1__KV_ACK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    ack.offset = receive->received_bytes;
    ack.credit_bytes = BATON_HANDOFF_CREDIT_BYTES;
    ack.complete = complete;
    ack.shares = remote->view != NULL;
    envelope.request_id = receive->origin->request_id;
    envelope.attempt = receive->origin->attempt;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_ACK;
    envelope.kv_ack = &ack;
    /* Acks are cumulative: after a failure the next chunk sends one that covers this one as
     * well. */
    if (!baton_link_send(remote->link, &envelope, NULL, 0))
        receive->acked_bytes = receive->received_bytes;
}

/* The size of the blocks of n_tokens that the sequence does not share. */
static uint64_t bytes_to_come(const struct baton_kv_receive *receive, int n_tokens)
{
    const struct baton_kv *kv = receive->seq->kv;
    if (receive->stripes)
        return (uint64_t)baton_kv_stripes_count(receive->stripes, receive->part,
                                                receive->first_block,
                                                baton_kv_blocks_for(n_tokens)) *
               baton_kv_all_block_bytes(kv);
    return baton_kv_context_bytes(kv, receive->first_block, n_tokens);
}

static bool grows(const struct baton_kv_receive *receive)
{
    return receive->n_tokens_max > 0;
}

/* The most tokens that may come. */
static int most_tokens(const struct baton_kv_receive *receive)
{
    return grows(receive) ? receive->n_tokens_max : receive->n_tokens;
}

/* Checks the shape once, at KvBegin. Chunks have only a layer and blocks within this shape. */
static bool is_as_expected(const struct baton_kv_receive *receive, const Baton__V1__KvBegin *kv)
{
    return receive->state == BATON_KV_RECEIVE_EXPECTED && kv->grows == grows(receive) &&
           kv->n_layers == (uint32_t)baton_kv_n_layers(receive->seq->kv) &&
           kv->n_tokens == (uint32_t)receive->n_tokens &&
           kv->block_tokens == BATON_KV_BLOCK_TOKENS &&
           kv->first_block == (uint32_t)receive->first_block &&
           !strcmp(kv->kv_dtype, baton_kv_dtype(receive->seq->kv)) &&
           kv->total_bytes == bytes_to_come(receive, receive->n_tokens);
}

/* The first block that layers with a window send of a context of n_tokens; -1: no layer has a
 * window. */
static int first_window_block(const struct baton_kv_receive *receive, int n_tokens)
{
    int n;
    const struct baton_seq *seq = receive->seq;
    const int *layers = baton_kv_layers_with(seq->kv, true, &n);
    int first = n ? baton_kv_first_block(seq->kv, layers[0], n_tokens) : -1;
    return n && first < seq->n_shared ? seq->n_shared : first;
}

/* Allocates blocks first..end - 1 of layers with a window; held blocks before them stay, as far as
 * the sequence may hold them. */
static bool hold_window(struct baton_seq *seq, int first, int end)
{
    if (first == seq->n_shared) /* the shared ones may be in the window */
        first = seq->first_window;
    if (first < end - seq->n_set_aside)
        first = end - seq->n_set_aside;
    return baton_seq_hold_window(seq, first > seq->first_window ? first : seq->first_window, end);
}

/* Sets the first block of layers with a window. For a sequence that grows only the sender knows it,
 * and KvEnd shows whether it was right. */
static bool begin_window(struct baton_kv_receive *receive, int first)
{
    int n;
    const int *layers = baton_kv_layers_with(receive->seq->kv, true, &n);
    if (receive->first_window >= 0 || first < 0)
        return true;
    if (first >= (int)receive->arrival.end_block)
        return false;
    receive->first_window = first;
    baton_kv_arrival_begin_at(&receive->arrival, layers, n, (uint32_t)first);
    return true;
}

/* Prepares for the whole window of a context that does not grow. */
static bool expect_window(struct baton_kv_receive *receive)
{
    int first = receive->stripes ? -1 : first_window_block(receive, receive->n_tokens);
    return grows(receive) || first < 0 ||
           (begin_window(receive, first) &&
            hold_window(receive->seq, first, baton_kv_blocks_for(receive->n_tokens)));
}

/* The window of a sequence that grew comes when it has stopped. */
static bool accepts_window(struct baton_kv_receive *receive, const Baton__V1__KvChunk *chunk)
{
    if (!grows(receive) || !baton_kv_has_window(receive->seq->kv, (int)chunk->layer))
        return true;
    return begin_window(receive, (int)chunk->first_block) &&
           hold_window(receive->seq, receive->first_window,
                       (int)(chunk->first_block + chunk->n_blocks)) &&
           (int)chunk->first_block >= receive->seq->first_window;
}

static bool may_begin(const struct baton_kv_receiver *receiver, struct baton_kv_receive *receive)
{
    return !receiver->options.begin || receiver->options.begin(receiver->options.arg, receive);
}

static void begin(const struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                  struct baton_kv_receive *receive, const baton_envelope *envelope, int64_t now_ns)
{
    const Baton__V1__KvBegin *kv = envelope->kv_begin;
    int n_held;
    const int *held = baton_kv_held_layers(receive->seq->kv, &n_held);
    if (strcmp(kv->kv_layout, baton_kv_layout_name(receive->seq->kv)) != 0) {
        fail_with(receiver, receive, BATON__V1__FAILED__CODE__OTHER_LAYOUT,
                  "the context has another KV layout than this worker");
        return;
    }
    if (!is_as_expected(receive, kv) || !may_begin(receiver, receive)) {
        baton_kv_receive_lose(receiver, receive,
                              "the context has another shape than its reservation");
        return;
    }
    if (baton_kv_arrival_init(&receive->arrival, kv->n_layers, held, n_held, kv->first_block,
                              (uint32_t)baton_kv_blocks_for(most_tokens(receive))) ||
        !expect_window(receive)) {
        baton_kv_receive_lose(receiver, receive, "no memory to receive the context");
        return;
    }
    if (receive->stripes)
        baton_kv_arrival_keep_part(&receive->arrival, receive->stripes, receive->part);
    set_state(receive, BATON_KV_RECEIVE_RECEIVING);
    receive->link = envelope->link;
    receive->sender = remote;
    baton_kv_receive_list_push_back(&remote->receives, receive);
    receive->total_bytes = kv->total_bytes;
    receive->began_ns = now_ns;
    /* The sender stops its sequence only for a receiver that answers, and waits to learn whether
     * its pool is mapped. */
    if (grows(receive) || kv->shares)
        send_ack(remote, receive, false);
}

/* Whether the chunk is the next expected one; if so, records it. n_bytes: of its blocks. */
static bool is_awaited(struct baton_kv_receive *receive, const struct baton_message *message,
                       size_t *n_bytes)
{
    const Baton__V1__KvChunk *chunk = message->envelope->kv_chunk;
    const struct baton_kv *kv = receive->seq->kv;
    if (receive->state != BATON_KV_RECEIVE_RECEIVING || chunk->offset != receive->received_bytes ||
        chunk->layer >= (uint32_t)baton_kv_n_layers(kv))
        return false;
    *n_bytes = chunk->n_blocks * baton_kv_block_bytes(kv, (int)chunk->layer);
    return (chunk->place || message->payload_bytes == *n_bytes) && accepts_window(receive, chunk) &&
           baton_kv_arrival_add(&receive->arrival, chunk->layer, chunk->first_block,
                                chunk->n_blocks);
}

/* Copies block by block: neighbours in the message need not be neighbours in this pool. A message
 * without blocks was refused when it was parsed, so n_blocks is not 0. */
static void copy_payload(const struct baton_kv_receive *receive,
                         const struct baton_message *message)
{
    const Baton__V1__KvChunk *chunk = message->envelope->kv_chunk;
    size_t block_bytes = message->payload_bytes / chunk->n_blocks;
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        memcpy(baton_seq_block(receive->seq, (int)chunk->layer, (int)(chunk->first_block + i)),
               message->payload + i * block_bytes, block_bytes);
}

static void handle_chunk(struct baton_kv_receiver *receiver, const struct baton_kv_remote *remote,
                         struct baton_kv_receive *receive, const struct baton_message *message)
{
    const Baton__V1__KvChunk *chunk = message->envelope->kv_chunk;
    size_t n_bytes;
    enum baton_err err = is_awaited(receive, message, &n_bytes) ? BATON_OK : BATON_INVALID;
    if (!err && chunk->place)
        err = baton_kv_share_copy(remote->view, chunk, receive->seq);
    if (err) {
        baton_kv_receive_lose(receiver, receive,
                              err == BATON_CORRUPT
                                  ? "the sender gave the context's blocks to another sequence"
                                  : "a piece of the context is missing or does not fit");
        return;
    }
    if (chunk->place)
        receive->shared_bytes += n_bytes;
    else
        copy_payload(receive, message);
    receiver->turn_bytes += n_bytes;
    receive->received_bytes += n_bytes;
    receive->crc_s += message->crc_s;
    receive->n_chunks++;
    if (receive->stripes)
        receiver->options.advanced(receiver->options.arg, receive, (int)chunk->layer);
    if (receive->received_bytes - receive->acked_bytes >= BATON_HANDOFF_ACK_EVERY_BYTES)
        send_ack(remote, receive, false);
}

/* Sets the final length of a sequence that grew; false: it may not have that length. */
static bool set_length(struct baton_kv_receive *receive, const Baton__V1__KvEnd *kv)
{
    int n_tokens = (int)kv->n_tokens;
    if (!grows(receive))
        return true;
    if (receive->state != BATON_KV_RECEIVE_RECEIVING || n_tokens < receive->n_tokens ||
        n_tokens > receive->n_tokens_max)
        return false;
    receive->n_tokens = n_tokens;
    receive->total_bytes = bytes_to_come(receive, n_tokens);
    return receive->first_window == first_window_block(receive, n_tokens) &&
           baton_kv_arrival_ends_at(&receive->arrival, (uint32_t)baton_kv_blocks_for(n_tokens));
}

/* Each block was accepted at most once, so the right number of bytes means that
 * all have arrived. */
static void end(const struct baton_kv_receiver *receiver, const struct baton_kv_remote *remote,
                struct baton_kv_receive *receive, const Baton__V1__KvEnd *kv)
{
    if (!set_length(receive, kv) || receive->state != BATON_KV_RECEIVE_RECEIVING ||
        kv->total_bytes != receive->total_bytes ||
        receive->received_bytes != receive->total_bytes || kv->n_chunks != receive->n_chunks) {
        baton_kv_receive_lose(receiver, receive, "the context ended before it was complete");
        return;
    }
    leave_sender(receive);
    set_state(receive, BATON_KV_RECEIVE_COMPLETE);
    if (!receive->stripes) /* a part's sequence belongs to the engine thread */
        receive->seq->n_tokens = receive->n_tokens;
    receive->overlap_s = kv->overlap_s;
    receive->complete_ns = baton_now_ns();
    if (receiver->options.complete)
        receiver->options.complete(receiver->options.arg, receive); /* may not free it */
    send_ack(remote, receive, true);
    baton_log(BATON_LOG_INFO, "context_received", BATON_ORIGIN(receive->origin),
              BATON_I("attempt", receive->origin->attempt), BATON_I("bytes", receive->total_bytes),
              BATON_I("shared_bytes", receive->shared_bytes), BATON_I("chunks", receive->n_chunks),
              BATON_F("transfer_s", baton_seconds(receive->complete_ns - receive->began_ns)),
              BATON_F("crc_s", receive->crc_s));
}

/* Whether the message may refer to that transfer: a KvBegin if none has arrived, or any message on
 * the link of its KvBegin. */
static bool has_claim(const struct baton_kv_receive *receive, const baton_envelope *envelope)
{
    bool begins = envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    return begins ? receive->state == BATON_KV_RECEIVE_EXPECTED && !receive->link
                  : receive->link == envelope->link;
}

bool baton_kv_receive_handle(struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                             const struct baton_message *message, int64_t now_ns)
{
    const baton_envelope *envelope = message->envelope;
    bool begins = envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    if (begins && !baton_kv_receiver_has_ticket(receiver, envelope))
        return false;
    struct baton_kv_receive *receive = receiver->options.find(receiver->options.arg, envelope);
    if (!receive)
        return true; /* the request was canceled meanwhile */
    if (!has_claim(receive, envelope))
        return false;
    if (begins)
        begin(receiver, remote, receive, envelope, now_ns);
    else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_CHUNK)
        handle_chunk(receiver, remote, receive, message);
    else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_END)
        end(receiver, remote, receive, envelope->kv_end);
    return true;
}
