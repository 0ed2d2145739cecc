#include "common/worker/kv_receive.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/frame.h"
#include "common/wire/handoff.h"
#include "common/worker/kv_share.h"

/* Chunks that wait for the main thread. Credit bounds the bytes in flight of one transfer; this
 * bounds those of all senders: when the queue is full, NNG stops reading from their pipes. */
enum { BULK_MAX_QUEUED = 64 };

/* The Envelope of a KvBegin is the largest here, by its texts. */
enum { BULK_MAX_HEADER = 4096 };

BATON_LIST(receive_list, struct baton_kv_receive, in_sender)

/* A worker that sends to us, known by the link that it chose. */
struct baton_kv_remote {
    struct baton_node in_remotes;
    struct baton_link *link;
    struct baton_kv_view *view;   /* of its pool; NULL: its contexts travel */
    struct receive_list receives; /* those under way */
};

BATON_LIST(remote_list, struct baton_kv_remote, in_remotes)

struct baton_kv_receiver {
    struct baton_kv_receiver_options options;
    struct baton_inbox *inbox;
    struct remote_list remotes;
    struct baton_ticket_key ticket_key;
    struct baton_kv_share *share; /* NULL: there is none */
    size_t turn_bytes;            /* taken in this turn */
    struct baton_message early;   /* a KvBegin that waits for its request to be told more */
    bool has_early;
};

/* Without a socket for offers contexts travel, unless they must not. */
static enum baton_err open_share(struct baton_kv_receiver *receiver, struct baton_why *why)
{
    const struct baton_kv_receiver_options *options = &receiver->options;
    struct baton_why reason = {""};
    if (options->path == BATON_KV_PATH_WIRE)
        return BATON_OK;
    enum baton_err err = baton_kv_share_open(options->kv, &receiver->ticket_key, options->epoch,
                                             &receiver->share, &reason);
    if (err && options->path == BATON_KV_PATH_SHARED)
        return baton_fail(why, err, "--kv-path shared: %s", reason.text);
    if (err)
        baton_log(BATON_LOG_WARN, "kv_not_shared", BATON_S("reason", reason.text));
    return BATON_OK;
}

enum baton_err baton_kv_receiver_create(const struct baton_kv_receiver_options *options,
                                        struct baton_kv_receiver **out, struct baton_why *why)
{
    struct baton_kv_receiver *receiver = calloc(1, sizeof *receiver);
    if (!receiver)
        return BATON_NO_MEMORY;
    receiver->options = *options;
    baton_ticket_key_init(&receiver->ticket_key);
    remote_list_init(&receiver->remotes);
    size_t max_bytes = baton_frame_size(BULK_MAX_HEADER, BATON_FRAME_MAX_PAYLOAD);
    enum baton_err err =
        baton_inbox_open(&(struct baton_inbox_options){.url = options->bulk_url,
                                                       .max_message_bytes = max_bytes,
                                                       .max_queued = BULK_MAX_QUEUED,
                                                       .wake = options->wake,
                                                       .wake_arg = options->wake_arg},
                         &receiver->inbox, why);
    if (err) {
        free(receiver);
        return err;
    }
    err = open_share(receiver, why);
    if (err)
        baton_kv_receiver_destroy(receiver);
    else
        *out = receiver;
    return err;
}

static void drop_remote(struct baton_kv_receiver *receiver, struct baton_kv_remote *remote)
{
    remote_list_remove(&receiver->remotes, remote);
    baton_link_close(remote->link);
    baton_link_release(remote->link);
    baton_kv_view_close(remote->view);
    free(remote);
}

void baton_kv_receiver_destroy(struct baton_kv_receiver *receiver)
{
    if (!receiver)
        return;
    for (struct baton_kv_remote *remote; (remote = remote_list_first(&receiver->remotes));)
        drop_remote(receiver, remote);
    if (receiver->has_early)
        baton_message_fini(&receiver->early);
    baton_inbox_close(receiver->inbox);
    baton_kv_share_close(receiver->share);
    free(receiver);
}

const char *baton_kv_receiver_url(const struct baton_kv_receiver *receiver)
{
    return baton_inbox_url(receiver->inbox);
}

void baton_kv_receiver_get_stats(const struct baton_kv_receiver *receiver,
                                 struct baton_inbox_stats *stats)
{
    baton_inbox_get_stats(receiver->inbox, stats);
}

struct baton_ticket baton_kv_receiver_ticket(const struct baton_kv_receiver *receiver,
                                             const struct baton_origin *origin)
{
    return baton_ticket_issue(&receiver->ticket_key, origin->request_id, origin->attempt);
}

static bool has_ticket(const struct baton_kv_receiver *receiver, const baton_envelope *envelope)
{
    const ProtobufCBinaryData *shown = &envelope->kv_begin->ticket;
    return baton_ticket_is_valid(&receiver->ticket_key, envelope->request_id, envelope->attempt,
                                 shown->data, shown->len);
}

/* ---- one transfer ---- */

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
        receive_list_remove(&receive->sender->receives, receive);
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

static void fail(const struct baton_kv_receiver *receiver, struct baton_kv_receive *receive,
                 const char *message)
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

/* Checked once, at KvBegin. Chunks name only their layer and blocks within this shape. */
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

/* The first block that comes of layers with a window, of a context of n_tokens; -1: no layer has
 * one. */
static int first_window_block(const struct baton_kv_receive *receive, int n_tokens)
{
    int n;
    const struct baton_seq *seq = receive->seq;
    const int *layers = baton_kv_layers_with(seq->kv, true, &n);
    int first = n ? baton_kv_first_block(seq->kv, layers[0], n_tokens) : -1;
    return n && first < seq->n_shared ? seq->n_shared : first;
}

/* Room for blocks first..end - 1 of layers with a window; those before them that are there stay, as
 * far as the sequence may hold them. */
static bool hold_window(struct baton_seq *seq, int first, int end)
{
    if (first == seq->n_shared) /* the shared ones may be in the window */
        first = seq->first_window;
    if (first < end - seq->n_set_aside)
        first = end - seq->n_set_aside;
    return baton_seq_hold_window(seq, first > seq->first_window ? first : seq->first_window, end);
}

/* Layers with a window begin with that block. Of a sequence that grows only the sender knows which,
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

/* All of a window that does not move any more. */
static bool expect_window(struct baton_kv_receive *receive)
{
    int first = receive->stripes ? -1 : first_window_block(receive, receive->n_tokens);
    return grows(receive) || first < 0 ||
           (begin_window(receive, first) &&
            hold_window(receive->seq, first, baton_kv_blocks_for(receive->n_tokens)));
}

/* The window of a sequence that grew comes when it has stopped. */
static bool takes_window(struct baton_kv_receive *receive, const Baton__V1__KvChunk *chunk)
{
    if (!grows(receive) || !baton_kv_has_window(receive->seq->kv, (int)chunk->layer))
        return true;
    return begin_window(receive, (int)chunk->first_block) &&
           hold_window(receive->seq, receive->first_window,
                       (int)(chunk->first_block + chunk->n_blocks)) &&
           (int)chunk->first_block >= receive->seq->first_window;
}

static void begin(const struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                  struct baton_kv_receive *receive, const baton_envelope *envelope, int64_t now_ns)
{
    const Baton__V1__KvBegin *kv = envelope->kv_begin;
    int n_held;
    const int *held = baton_kv_held_layers(receive->seq->kv, &n_held);
    if (strcmp(kv->kv_layout, baton_kv_layout_name(receive->seq->kv)) != 0) {
        fail_with(receiver, receive, BATON__V1__FAILED__CODE__OTHER_LAYOUT,
                  "the K and V that arrived are laid out in another way than this worker's");
        return;
    }
    if (!is_as_expected(receive, kv) || !receiver->options.begin(receiver->options.arg, receive)) {
        fail(receiver, receive,
             "the context that arrived has another shape than the one reserved for");
        return;
    }
    if (baton_kv_arrival_init(&receive->arrival, kv->n_layers, held, n_held, kv->first_block,
                              (uint32_t)baton_kv_blocks_for(most_tokens(receive))) ||
        !expect_window(receive)) {
        fail(receiver, receive, "no memory to receive the context");
        return;
    }
    if (receive->stripes)
        baton_kv_arrival_keep_part(&receive->arrival, receive->stripes, receive->part);
    receive->state = BATON_KV_RECEIVE_RECEIVING;
    receive->link = envelope->link;
    receive->sender = remote;
    receive_list_push_back(&remote->receives, receive);
    receive->total_bytes = kv->total_bytes;
    receive->began_ns = now_ns;
    /* The sender stops its sequence only for a receiver that answers, and waits for word of its
     * pool. */
    if (grows(receive) || kv->shares)
        send_ack(remote, receive, false);
}

/* Whether the chunk is the next one of what is awaited; then it is noted. n_bytes: of its blocks. */
static bool is_awaited(struct baton_kv_receive *receive, const struct baton_message *message,
                       size_t *n_bytes)
{
    const Baton__V1__KvChunk *chunk = message->envelope->kv_chunk;
    const struct baton_kv *kv = receive->seq->kv;
    if (receive->state != BATON_KV_RECEIVE_RECEIVING || chunk->offset != receive->received_bytes ||
        chunk->layer >= (uint32_t)baton_kv_n_layers(kv))
        return false;
    *n_bytes = chunk->n_blocks * baton_kv_block_bytes(kv, (int)chunk->layer);
    return (chunk->place || message->payload_bytes == *n_bytes) && takes_window(receive, chunk) &&
           baton_kv_arrival_take(&receive->arrival, chunk->layer, chunk->first_block,
                                 chunk->n_blocks);
}

/* Block by block: here they need not be neighbours in the pool. */
static void copy_payload(const struct baton_kv_receive *receive,
                         const struct baton_message *message)
{
    const Baton__V1__KvChunk *chunk = message->envelope->kv_chunk;
    size_t block_bytes = message->payload_bytes / chunk->n_blocks;
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        memcpy(baton_seq_block(receive->seq, (int)chunk->layer, (int)(chunk->first_block + i)),
               message->payload + i * block_bytes, block_bytes);
}

static void take_chunk(struct baton_kv_receiver *receiver, const struct baton_kv_remote *remote,
                       struct baton_kv_receive *receive, const struct baton_message *message)
{
    const Baton__V1__KvChunk *chunk = message->envelope->kv_chunk;
    size_t n_bytes;
    enum baton_err err = is_awaited(receive, message, &n_bytes) ? BATON_OK : BATON_INVALID;
    if (!err && chunk->place)
        err = baton_kv_share_copy(remote->view, chunk, receive->seq);
    if (err) {
        fail(receiver, receive,
             err == BATON_CORRUPT ? "the sender gave the context's blocks to another one"
                                  : "a piece of the context is missing, or does not fit");
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

/* Takes the length that a sequence grew to, if it may have that. */
static bool take_length(struct baton_kv_receive *receive, const Baton__V1__KvEnd *kv)
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

/* Each block came at most once, so the right number of bytes means that every block is here. */
static void end(const struct baton_kv_receiver *receiver, const struct baton_kv_remote *remote,
                struct baton_kv_receive *receive, const Baton__V1__KvEnd *kv)
{
    if (!take_length(receive, kv) || receive->state != BATON_KV_RECEIVE_RECEIVING ||
        kv->total_bytes != receive->total_bytes ||
        receive->received_bytes != receive->total_bytes || kv->n_chunks != receive->n_chunks) {
        fail(receiver, receive, "the context ended before all of it had arrived");
        return;
    }
    leave_sender(receive);
    receive->state = BATON_KV_RECEIVE_COMPLETE;
    if (!receive->stripes) /* else it is the engine thread's */
        receive->seq->n_tokens = receive->n_tokens;
    receive->overlap_s = kv->overlap_s;
    receive->complete_ns = baton_now_ns();
    receiver->options.complete(receiver->options.arg, receive); /* may not free it */
    send_ack(remote, receive, true);
    baton_log(BATON_LOG_INFO, "context_received", BATON_ORIGIN(receive->origin),
              BATON_I("attempt", receive->origin->attempt), BATON_I("bytes", receive->total_bytes),
              BATON_I("shared_bytes", receive->shared_bytes), BATON_I("chunks", receive->n_chunks),
              BATON_F("transfer_s", baton_seconds(receive->complete_ns - receive->began_ns)),
              BATON_F("crc_s", receive->crc_s));
}

/* Whether the message may speak of that transfer: a KvBegin of one that nothing came for, or what
 * follows a KvBegin over the same link. */
static bool has_claim(const struct baton_kv_receive *receive, const baton_envelope *envelope)
{
    bool begins = envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    return begins ? receive->state == BATON_KV_RECEIVE_EXPECTED && !receive->link
                  : receive->link == envelope->link;
}

/* False: the sender has no right to what it says, and its link is to end. */
static bool handle(struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                   const struct baton_message *message, int64_t now_ns)
{
    const baton_envelope *envelope = message->envelope;
    bool begins = envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    if (begins && !has_ticket(receiver, envelope))
        return false;
    struct baton_kv_receive *receive = receiver->options.find(receiver->options.arg, envelope);
    if (!receive)
        return true; /* canceled meanwhile */
    if (!has_claim(receive, envelope))
        return false;
    if (begins)
        begin(receiver, remote, receive, envelope, now_ns);
    else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_CHUNK)
        take_chunk(receiver, remote, receive, message);
    else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_END)
        end(receiver, remote, receive, envelope->kv_end);
    return true;
}

/* ---- senders ---- */

static struct baton_kv_remote *find_remote(const struct baton_kv_receiver *receiver, uint64_t link)
{
    struct baton_kv_remote *remote = remote_list_first(&receiver->remotes);
    while (remote && baton_link_id(remote->link) != link)
        remote = remote_list_next(&receiver->remotes, remote);
    return remote;
}

/* A KvBegin that nobody here asked for: the sender learns nothing but that its pipe is closed. */
static bool is_strangers(const struct baton_kv_receiver *receiver,
                         const struct baton_message *message)
{
    static struct baton_log_limit limit;
    const baton_envelope *envelope = message->envelope;
    if (envelope->dst_epoch == receiver->options.epoch && has_ticket(receiver, envelope))
        return false;
    baton_log_limited(&limit, BATON_LOG_WARN, "stranger_refused",
                      BATON_S("peer", message->peer_host),
                      BATON_S("reason", "a KvBegin without a ticket of this worker"));
    return true;
}

static void refuse_remote(const struct baton_message *message, const char *reason)
{
    static struct baton_log_limit limit;
    baton_log_limited(&limit, BATON_LOG_WARN, "bulk_peer_refused",
                      BATON_S("peer", message->peer_host), BATON_S("reason", reason));
}

/* The sender's inbox takes our pipe for a stranger's until a word comes by it. Nothing has arrived
 * yet, and the credit is what every ack grants. */
static void greet_back(const struct baton_kv_remote *remote, const baton_envelope *begin)
{
    Baton__V1__KvAck ack = BATON__V1__KV_ACK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    ack.credit_bytes = BATON_HANDOFF_CREDIT_BYTES;
    ack.shares = remote->view != NULL;
    envelope.request_id = begin->request_id;
    envelope.attempt = begin->attempt;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_ACK;
    envelope.kv_ack = &ack;
    if (baton_link_send(remote->link, &envelope, NULL, 0))
        baton_link_close(remote->link); /* a new link's queue is empty: it is down */
}

static void map_if_offered(const struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                           const baton_envelope *envelope)
{
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_BEGIN && envelope->kv_begin->shares &&
        !remote->view)
        remote->view = baton_kv_share_take(receiver->share, envelope);
}

/* The first message on an unknown link opens our half of it. Any other message there belongs to a
 * link that has ended here, and a link never recovers. */
static struct baton_kv_remote *greet(struct baton_kv_receiver *receiver,
                                     const struct baton_message *message)
{
    const baton_envelope *envelope = message->envelope;
    char url[BATON_MAX_TEXT_BYTES + 1];
    struct baton_why why = {""};
    if (envelope->body_case != BATON__V1__ENVELOPE__BODY_KV_BEGIN || envelope->link_seq != 1 ||
        is_strangers(receiver, message))
        return NULL;
    if (receiver->remotes.n >= BATON_KV_MAX_REMOTES) {
        refuse_remote(message, "too many workers send contexts at once");
        return NULL;
    }
    struct baton_kv_remote *remote = calloc(1, sizeof *remote);
    if (!remote)
        return NULL;
    struct baton_link_options link = {.url = url,
                                      .local_epoch = receiver->options.epoch,
                                      .peer_epoch = envelope->src_epoch,
                                      .id = envelope->link,
                                      .connect_ns = receiver->options.connect_ns,
                                      .wake = receiver->options.wake,
                                      .wake_arg = receiver->options.wake_arg};
    enum baton_err err = baton_link_resolve_url(envelope->kv_begin->reply_url, message->peer_host,
                                                url, sizeof url, &why);
    if (!err)
        err = baton_link_open(&link, &remote->link, &why);
    if (err) {
        refuse_remote(message, why.text);
        free(remote);
        return NULL;
    }
    baton_inbox_admit(receiver->inbox, message);
    map_if_offered(receiver, remote, envelope);
    greet_back(remote, envelope);
    receive_list_init(&remote->receives);
    remote_list_push_back(&receiver->remotes, remote);
    return remote;
}

/* Every transfer that is under way from that sender is lost with its link. */
static void lose_remote(struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                        const char *message)
{
    for (struct baton_kv_receive *receive; (receive = receive_list_first(&remote->receives));)
        fail(receiver, receive, message);
    drop_remote(receiver, remote);
}

/* The newcomer goes, with all that it sends; the context stays with whom it came by first. */
static void end_claimant(struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                         const struct baton_message *message)
{
    static struct baton_log_limit limit;
    const baton_envelope *envelope = message->envelope;
    baton_log_limited(&limit, BATON_LOG_ERROR, "claim_refused",
                      BATON_X("req", envelope->request_id), BATON_O("id", envelope->client_id),
                      BATON_O("trace", envelope->trace_id), BATON_I("attempt", envelope->attempt),
                      BATON_S("peer", message->peer_host),
                      BATON_S("message", baton_envelope_kind(envelope)),
                      BATON_S("reason", "the context is not this sender's"));
    baton_inbox_reject(receiver->inbox, message);
    lose_remote(receiver, remote, "the hand-off's link was ended for a false claim");
}

static bool is_early(const struct baton_kv_receiver *receiver, const baton_envelope *envelope)
{
    return envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_BEGIN &&
           receiver->options.is_early && has_ticket(receiver, envelope) &&
           receiver->options.is_early(receiver->options.arg, envelope);
}

/* False: it is to be handled again later. */
static bool handle_or_wait(struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                           const struct baton_message *message, int64_t now_ns)
{
    if (is_early(receiver, message->envelope))
        return false;
    if (!handle(receiver, remote, message, now_ns))
        end_claimant(receiver, remote, message);
    return true;
}

/* False: the message is early. */
static bool receive_message(struct baton_kv_receiver *receiver, const struct baton_message *message,
                            int64_t now_ns)
{
    struct baton_kv_remote *remote = find_remote(receiver, message->envelope->link);
    if (!remote)
        remote = greet(receiver, message);
    if (!remote) {
        baton_inbox_reject(receiver->inbox, message);
        return true;
    }
    switch (baton_link_accept(remote->link, message->envelope, now_ns)) {
    case BATON_LINK_FRESH:
        map_if_offered(receiver, remote, message->envelope);
        return handle_or_wait(receiver, remote, message, now_ns);
    case BATON_LINK_STALE: /* of an earlier life: nothing is lost with it */
        break;
    case BATON_LINK_GAP:
        baton_inbox_reject(receiver->inbox, message);
        lose_remote(receiver, remote, "the hand-off lost a message");
        break;
    }
    return true;
}

/* Whether nothing waits any more. The owner was told what to expect, or the request is over. */
static bool take_early(struct baton_kv_receiver *receiver, int64_t now_ns)
{
    if (!receiver->has_early)
        return true;
    struct baton_kv_remote *remote = find_remote(receiver, receiver->early.envelope->link);
    if (remote && !handle_or_wait(receiver, remote, &receiver->early, now_ns))
        return false;
    baton_message_fini(&receiver->early);
    receiver->has_early = false;
    return true;
}

/* False when more is there than a turn takes. */
static bool receive_messages(struct baton_kv_receiver *receiver, int64_t now_ns)
{
    struct baton_message message;
    receiver->turn_bytes = 0;
    while (receiver->turn_bytes < BATON_KV_RECEIVE_TURN_BYTES) {
        if (!baton_inbox_take(receiver->inbox, &message))
            return true;
        receiver->turn_bytes += sizeof message;
        if (receive_message(receiver, &message, now_ns)) {
            baton_message_fini(&message);
            continue;
        }
        receiver->early = message; /* moved */
        receiver->has_early = true;
        return true;
    }
    receiver->options.wake(receiver->options.wake_arg);
    return false;
}

void baton_kv_receiver_work(struct baton_kv_receiver *receiver, int64_t now_ns)
{
    baton_kv_share_look(receiver->share);
    if (!take_early(receiver, now_ns))
        return; /* all that came later waits behind it */
    if (!receive_messages(receiver, now_ns))
        return; /* what a sender that went away had sent before is still its transfers' */
    for (struct baton_kv_remote *remote = remote_list_first(&receiver->remotes), *next; remote;
         remote = next) {
        next = remote_list_next(&receiver->remotes, remote);
        if (baton_link_state(remote->link) == BATON_OUTBOX_DOWN)
            lose_remote(receiver, remote, "the sending worker went away during the hand-off");
    }
}
