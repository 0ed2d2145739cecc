#include "worker/kv/send.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/states.h"
#include "common/wire/handoff.h"
#include "worker/kv/offer.h"
#include "worker/pace.h"

BATON_LIST(send_list, struct baton_kv_send, in_peer)

/* Whether the receiver maps the pool. Until it has confirmed that, blocks travel. A pool
 * that was not mapped is offered again with a later KvBegin: strangers may have filled
 * the receiver's queue. */
enum share { NOT_OFFERED, OFFERED, SHARED, REFUSED };

#define OFFER_AGAIN_NS (2 * BATON_SECOND)

/* One life of a receiver, and the link to it. */
struct baton_kv_peer {
    struct baton_node in_peers;
    enum share share;
    int64_t offered_ns;       /* 0: not yet */
    enum baton_err offer_err; /* of the last offer */
    struct baton_link *link;  /* NULL: not dialled yet */
    uint64_t epoch;
    struct send_list sends;
    uint64_t n_acks;
    struct baton_progress progress;
    bool is_cut; /* the link is down because the path is cut */
    char url[];
};

BATON_LIST(peer_list, struct baton_kv_peer, in_peers)

struct baton_kv_sender {
    struct baton_kv_sender_options options;
    struct peer_list peers;
};

void baton_kv_target_set(struct baton_kv_target *target, const Baton__V1__DeliverTo *deliver_to)
{
    *target = (struct baton_kv_target){.epoch = deliver_to->epoch,
                                       .first_block = (int)deliver_to->first_block};
    memcpy(target->ticket.bytes, deliver_to->ticket.data, sizeof target->ticket.bytes);
    (void)strncpy(target->url, deliver_to->bulk_url, sizeof target->url - 1);
}

/* ---- links ---- */

struct baton_kv_sender *baton_kv_sender_create(const struct baton_kv_sender_options *options)
{
    struct baton_kv_sender *sender = calloc(1, sizeof *sender);
    if (sender) {
        sender->options = *options;
        peer_list_init(&sender->peers);
    }
    return sender;
}

static void drop_peer(struct baton_kv_sender *sender, struct baton_kv_peer *peer)
{
    peer_list_remove(&sender->peers, peer);
    if (peer->link)
        baton_link_close(peer->link);
    baton_link_release(peer->link);
    free(peer);
}

void baton_kv_sender_destroy(struct baton_kv_sender *sender)
{
    if (!sender)
        return;
    for (struct baton_kv_peer *peer; (peer = peer_list_first(&sender->peers));)
        drop_peer(sender, peer);
    free(sender);
}

static bool is_down(const struct baton_kv_peer *peer)
{
    return peer->link && baton_link_state(peer->link) == BATON_OUTBOX_DOWN;
}

void baton_kv_sender_tidy(struct baton_kv_sender *sender)
{
    for (struct baton_kv_peer *peer = peer_list_first(&sender->peers), *next; peer; peer = next) {
        next = peer_list_next(&sender->peers, peer);
        /* A peer with transfers stays: they must find it down at their next pump. */
        if (!peer->sends.n && (!peer->link || is_down(peer)))
            drop_peer(sender, peer);
    }
}

static enum baton_err add_peer(struct baton_kv_sender *sender, const struct baton_kv_source *source,
                               struct baton_kv_peer **out)
{
    size_t n = strlen(source->target->url) + 1;
    struct baton_kv_peer *peer = calloc(1, sizeof *peer + n);
    if (!peer)
        return BATON_NO_MEMORY;
    memcpy(peer->url, source->target->url, n);
    peer->epoch = source->target->epoch;
    send_list_init(&peer->sends);
    peer_list_push_back(&sender->peers, peer);
    *out = peer;
    return BATON_OK;
}

/* Dials at the first message and not before: the receiver soon closes a silent pipe, and a prompt
 * may take long until its first blocks are ready. */
static enum baton_err dial(const struct baton_kv_sender *sender, struct baton_kv_peer *peer)
{
    struct baton_why why;
    struct baton_link_options link = {.url = peer->url,
                                      .local_epoch = sender->options.epoch,
                                      .peer_epoch = peer->epoch,
                                      .connect_ns = sender->options.connect_ns,
                                      .wake = sender->options.wake,
                                      .wake_arg = sender->options.wake_arg};
    enum baton_err err = baton_link_open(&link, &peer->link, &why);
    if (err)
        baton_log(BATON_LOG_WARN, "bulk_undialled", BATON_S("url", peer->url),
                  BATON_S("reason", why.text));
    return err;
}

static void log_path(const struct baton_kv_peer *peer, const char *path, const char *reason)
{
    baton_log(BATON_LOG_INFO, "kv_path", BATON_S("url", peer->url), BATON_S("path", path),
              BATON_S("reason", reason));
}

static bool is_offer_due(const struct baton_kv_sender *sender, const struct baton_kv_peer *peer,
                         const struct baton_kv *kv, int64_t now_ns)
{
    return sender->options.path != BATON_KV_PATH_WIRE && baton_kv_fd(kv) >= 0 &&
           (peer->share == NOT_OFFERED || peer->share == REFUSED) &&
           (!peer->offered_ns || now_ns - peer->offered_ns >= OFFER_AGAIN_NS);
}

/* Sent before the KvBegin that refers to it, so that the offer has arrived when that is read. */
static void offer_pool(const struct baton_kv_sender *sender, struct baton_kv_peer *peer,
                       const struct baton_kv_source *source)
{
    const struct baton_kv *kv = source->seq->kv;
    struct baton_kv_offer offer = {.link = baton_link_id(peer->link),
                                   .sender_epoch = sender->options.epoch,
                                   .receiver_epoch = peer->epoch,
                                   .request_id = source->origin->request_id,
                                   .attempt = source->origin->attempt,
                                   .n_blocks = (uint32_t)baton_kv_n_blocks(kv),
                                   .ticket = source->target->ticket};
    struct baton_why why = {""};
    bool is_first = !peer->offered_ns;
    memcpy(offer.kv_layout, baton_kv_layout_name(kv), sizeof offer.kv_layout);
    enum baton_err err = baton_kv_offer_send(&offer, baton_kv_fd(kv), &why);
    if (!err)
        peer->share = OFFERED;
    else if (is_first || err != peer->offer_err)
        log_path(peer, "wire", why.text);
    peer->offered_ns = baton_now_ns();
    peer->offer_err = err;
}

static void handle_share_answer(struct baton_kv_peer *peer, bool shares)
{
    /* An ack from before the offer was read denies it, and a later one may confirm it. */
    if (peer->share != OFFERED && !(peer->share == REFUSED && shares))
        return;
    peer->share = shares ? SHARED : REFUSED;
    log_path(peer, shares ? "shared" : "wire",
             shares ? "it has mapped the KV cache" : "it has not mapped the KV cache");
}

/* Finds or adds the peer of the source's receiver. A receiver that restarted has another epoch. A
 * link that is down never recovers, so a new transfer gets a new link. */
static enum baton_err find_peer(struct baton_kv_sender *sender,
                                const struct baton_kv_source *source, struct baton_kv_peer **out)
{
    struct baton_kv_peer *peer = peer_list_first(&sender->peers);
    while (peer && (peer->epoch != source->target->epoch || is_down(peer)))
        peer = peer_list_next(&sender->peers, peer);
    if (!peer)
        return add_peer(sender, source, out);
    *out = peer;
    return BATON_OK;
}

/* ---- a path that is cut ---- */

/* Beats without an acknowledgement before a path counts as cut: CUT_BEATS if the receiver's
 * kernel does not acknowledge the packets either; CONNECT_BEATS while the link does not
 * come up, just before it gives up by itself; ACK_BEATS if only KvAcks are missing, which a
 * slow network delays. */
enum { CUT_BEATS = 3, CONNECT_BEATS = 5, ACK_BEATS = 40 };

/* Whether the receiver owes the transfer a KvAck. */
static bool awaits_ack(const struct baton_kv_send *send)
{
    return send->state == BATON_KV_SEND_SENT ||
           (send->state == BATON_KV_SEND_SENDING && !send->answered &&
            (send->source.grows || send->waits_for_share)) ||
           (send->state == BATON_KV_SEND_SENDING &&
            send->sent_bytes - send->acked_bytes >= BATON_HANDOFF_ACK_EVERY_BYTES);
}

static bool is_waiting(struct baton_kv_peer *peer)
{
    struct baton_kv_send *send = send_list_first(&peer->sends);
    if (!peer->link) /* no message was sent yet */
        return false;
    if (send && baton_link_state(peer->link) == BATON_OUTBOX_CONNECTING)
        return true;
    while (send && !awaits_ack(send))
        send = send_list_next(&peer->sends, send);
    return send != NULL;
}

static bool is_cut(struct baton_kv_peer *peer, double still_s, double beat_s)
{
    if (baton_link_state(peer->link) == BATON_OUTBOX_CONNECTING)
        return still_s > CONNECT_BEATS * beat_s;
    if (still_s <= CUT_BEATS * beat_s)
        return false;
    return still_s > ACK_BEATS * beat_s ||
           baton_seconds(baton_link_silent_ns(peer->link)) > CUT_BEATS * beat_s;
}

void baton_kv_sender_check_paths(struct baton_kv_sender *sender, int64_t now_ns)
{
    double beat_s = baton_seconds(sender->options.beat_ns);
    if (beat_s <= 0)
        return;
    for (struct baton_kv_peer *peer = peer_list_first(&sender->peers); peer;
         peer = peer_list_next(&sender->peers, peer)) {
        double still_s =
            baton_progress_poll(&peer->progress, is_waiting(peer), peer->n_acks, now_ns);
        if (still_s <= 0 || is_down(peer) || !is_cut(peer, still_s, beat_s))
            continue;
        peer->is_cut = true;
        baton_log(BATON_LOG_WARN, "path_cut", BATON_S("url", peer->url),
                  BATON_F("without_ack_s", still_s), BATON_I("transfers", peer->sends.n));
        baton_link_close(peer->link);
    }
}

/* ---- a transfer ---- */

#define TO(state) (1u << BATON_KV_SEND_##state)

/* The state diagram of the header as a table: the next states of each state. */
static const unsigned edges[BATON_KV_SEND_N_STATES] = {
    [BATON_KV_SEND_IDLE] = TO(OPEN),
    [BATON_KV_SEND_OPEN] = TO(SENDING) | TO(IDLE),
    [BATON_KV_SEND_SENDING] = TO(SENT) | TO(IDLE),
    [BATON_KV_SEND_SENT] = TO(ACKED) | TO(IDLE),
    [BATON_KV_SEND_ACKED] = TO(IDLE)};
static const char *const names[] = {"idle", "open", "sending", "sent", "acked"};
static const struct baton_states states = {.object = "kv_send", .names = names, .edges = edges};

static void set_state(struct baton_kv_send *send, enum baton_kv_send_state state)
{
    baton_states_check(&states, send->state, state);
    send->state = state;
}

/* A part's receiver computes later positions, so it needs all blocks, even in layers
 * with a window. */
static void begin_part_order(struct baton_kv_send *send, bool window)
{
    int n_layers;
    const struct baton_kv_source *source = &send->source;
    const int *layers = baton_kv_layers_with(source->seq->kv, window, &n_layers);
    baton_kv_order_init(&send->orders[window], layers, n_layers, source->target->first_block,
                        source->n_tokens / BATON_KV_BLOCK_TOKENS);
    baton_kv_order_keep_part(&send->orders[window], source->stripes, source->part);
}

/* A layer that sees only a window begins where n_tokens need it. */
static void begin_order(struct baton_kv_send *send, bool window, int n_tokens, int n_blocks)
{
    int n_layers, first = send->source.target->first_block;
    const struct baton_kv *kv = send->source.seq->kv;
    const int *layers = baton_kv_layers_with(kv, window, &n_layers);
    if (!n_layers)
        return;
    int first_needed = baton_kv_first_block(kv, layers[0], n_tokens);
    baton_kv_order_init(&send->orders[window], layers, n_layers,
                        first_needed > first ? first_needed : first, n_blocks);
}

enum baton_err baton_kv_send_open(struct baton_kv_sender *sender, struct baton_kv_send *send,
                                  const struct baton_kv_source *source)
{
    struct baton_kv_peer *peer = NULL;
    enum baton_err err = find_peer(sender, source, &peer);
    if (err)
        return err;
    set_state(send, BATON_KV_SEND_OPEN);
    /* The first credit is fixed, so that the first layers need not wait for a KvAck. */
    *send = (struct baton_kv_send){
        .state = send->state,
        .source = *source,
        .peer = peer,
        .overlaps = source->grows || source->stripes ||
                    baton_overlap_applies(sender->options.overlap,
                                          source->n_tokens - source->n_cached_tokens),
        .credit_bytes = BATON_HANDOFF_FIRST_CREDIT_BYTES};
    send_list_push_back(&peer->sends, send);
    int n_blocks = baton_kv_blocks_for(source->n_tokens);
    send->is_whole = !source->grows;
    if (source->stripes) {
        begin_part_order(send, false);
        begin_part_order(send, true);
        return BATON_OK;
    }
    begin_order(send, false, source->n_tokens, source->grows ? INT_MAX : n_blocks);
    if (!source->grows)
        begin_order(send, true, source->n_tokens, n_blocks);
    return BATON_OK;
}

static bool next_extent(struct baton_kv_send *send, struct baton_kv_progress progress,
                        struct baton_kv_extent *extent, struct baton_kv_order **order)
{
    for (int i = 0; i < 2; i++)
        if (baton_kv_order_next(*order = &send->orders[i], progress, extent))
            return true;
    return false;
}

bool baton_kv_send_has_caught_up(struct baton_kv_send *send)
{
    struct baton_kv_extent extent;
    struct baton_kv_order *order;
    return send->answered && send->sent_bytes - send->acked_bytes < BATON_HANDOFF_ACK_EVERY_BYTES &&
           !next_extent(send, baton_kv_progress_read(send->source.progress), &extent, &order);
}

void baton_kv_send_stop(struct baton_kv_send *send, int n_tokens)
{
    send->source.n_tokens = n_tokens;
    send->orders[false].n_blocks = baton_kv_blocks_for(n_tokens);
    begin_order(send, true, n_tokens, baton_kv_blocks_for(n_tokens));
    send->is_whole = true;
}

void baton_kv_send_close(struct baton_kv_send *send)
{
    if (send->state == BATON_KV_SEND_IDLE)
        return;
    send_list_remove(&send->peer->sends, send);
    send->peer = NULL;
    set_state(send, BATON_KV_SEND_IDLE);
}

static enum baton_err send_message(const struct baton_kv_send *send, baton_envelope *envelope,
                                   const void *payload, size_t n)
{
    envelope->request_id = send->source.origin->request_id;
    baton_envelope_set_tag(envelope, &send->source.origin->tag);
    envelope->attempt = send->source.origin->attempt;
    return baton_link_send(send->peer->link, envelope, payload, n);
}

static uint64_t bytes_to_send(const struct baton_kv_source *source)
{
    int first = source->target->first_block;
    const struct baton_kv *kv = source->seq->kv;
    if (source->stripes)
        return (uint64_t)baton_kv_stripes_count(source->stripes, source->part, first,
                                                source->n_tokens / BATON_KV_BLOCK_TOKENS) *
               baton_kv_all_block_bytes(kv);
    return baton_kv_context_bytes(kv, first, source->n_tokens);
}

static enum baton_err send_begin(const struct baton_kv_sender *sender, struct baton_kv_send *send)
{
    const struct baton_kv_source *source = &send->source;
    Baton__V1__KvBegin begin = BATON__V1__KV_BEGIN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    enum baton_err err = send->peer->link ? BATON_OK : dial(sender, send->peer);
    if (err)
        return err;
    if (is_offer_due(sender, send->peer, source->seq->kv, baton_now_ns()))
        offer_pool(sender, send->peer, source);
    begin.reply_url = baton_envelope_text(sender->options.reply_url);
    begin.n_layers = (uint32_t)baton_kv_n_layers(source->seq->kv);
    begin.n_tokens = (uint32_t)source->n_tokens;
    begin.block_tokens = BATON_KV_BLOCK_TOKENS;
    begin.total_bytes = bytes_to_send(source);
    begin.first_block = (uint32_t)source->target->first_block;
    begin.grows = source->grows;
    begin.shares = send->peer->share == OFFERED;
    begin.kv_dtype = baton_envelope_text(baton_kv_dtype(source->seq->kv));
    begin.kv_layout = baton_envelope_text(baton_kv_layout_name(source->seq->kv));
    begin.ticket.data = (uint8_t *)(uintptr_t)source->target->ticket.bytes;
    begin.ticket.len = sizeof source->target->ticket.bytes;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_BEGIN;
    envelope.kv_begin = &begin;
    err = send_message(send, &envelope, NULL, 0);
    if (!err) {
        set_state(send, BATON_KV_SEND_SENDING);
        send->began_ns = baton_now_ns();
    }
    return err;
}

/* The number of the extent's first blocks that are also neighbours in the pool. They travel as one
 * payload, so the message copies one run of bytes. */
static int contiguous_blocks(const struct baton_seq *seq, const struct baton_kv_extent *extent,
                             int max_blocks)
{
    const int *blocks = baton_seq_numbers(seq, extent->layer) + extent->block;
    int n = 1;
    while (n < extent->n_blocks && n < max_blocks && blocks[n] == blocks[0] + n)
        n++;
    return n;
}

static enum baton_err send_chunk(struct baton_kv_send *send, struct baton_kv_order *order,
                                 const struct baton_kv_extent *extent)
{
    const struct baton_seq *seq = send->source.seq;
    size_t block_bytes = baton_kv_block_bytes(seq->kv, extent->layer);
    int n = contiguous_blocks(seq, extent, (int)(BATON_HANDOFF_CHUNK_BYTES / block_bytes));
    Baton__V1__KvChunk chunk = BATON__V1__KV_CHUNK__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    chunk.offset = send->sent_bytes;
    chunk.layer = (uint32_t)extent->layer;
    chunk.first_block = (uint32_t)extent->block;
    chunk.n_blocks = (uint32_t)n;
    Baton__V1__KvPlace place = BATON__V1__KV_PLACE__INIT;
    bool is_shared = send->peer->share == SHARED;
    place.block = (uint32_t)baton_seq_numbers(seq, extent->layer)[extent->block];
    place.as_of = baton_kv_clock(seq->kv); /* the blocks are the sequence's up to this time */
    chunk.place = is_shared ? &place : NULL;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    envelope.kv_chunk = &chunk;
    enum baton_err err =
        send_message(send, &envelope, baton_seq_block(seq, extent->layer, extent->block),
                     is_shared ? 0 : (size_t)n * block_bytes);
    if (err)
        return err;
    send->sent_bytes += (uint64_t)n * block_bytes;
    send->n_chunks++;
    baton_kv_order_sent(order, n);
    return BATON_OK;
}

/* The time that the transfer overlapped the computation of its context. */
static double overlap_s(const struct baton_kv_send *send)
{
    int64_t computed_ns = atomic_load(send->source.computed_ns);
    double seconds = baton_seconds((computed_ns ? computed_ns : baton_now_ns()) - send->began_ns);
    return seconds > 0 ? seconds : 0;
}

static enum baton_err send_end(struct baton_kv_send *send)
{
    Baton__V1__KvEnd end = BATON__V1__KV_END__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    end.total_bytes = send->sent_bytes;
    end.n_chunks = send->n_chunks;
    end.overlap_s = overlap_s(send);
    end.n_tokens = send->source.grows ? (uint32_t)send->source.n_tokens : 0;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_END;
    envelope.kv_end = &end;
    enum baton_err err = send_message(send, &envelope, NULL, 0);
    if (!err)
        set_state(send, BATON_KV_SEND_SENT);
    return err;
}

static bool has_credit(const struct baton_kv_send *send)
{
    return send->sent_bytes < send->acked_bytes + send->credit_bytes;
}

/* With --kv-path shared, blocks wait until the receiver has answered the offer of the pool. */
static bool may_send_blocks(const struct baton_kv_sender *sender, struct baton_kv_send *send)
{
    send->waits_for_share =
        sender->options.path == BATON_KV_PATH_SHARED && send->peer->share == OFFERED;
    return !send->waits_for_share;
}

/* Whether --kv-path forbids the link and the receiver does not map the pool. */
static bool has_no_path(const struct baton_kv_sender *sender, const struct baton_kv_peer *peer)
{
    return sender->options.path == BATON_KV_PATH_SHARED && peer->link &&
           (peer->share == NOT_OFFERED || peer->share == REFUSED);
}

static bool is_computed(const struct baton_kv_send *send, struct baton_kv_progress progress)
{
    return baton_kv_order_is_ready(&send->orders[false], progress) &&
           baton_kv_order_is_ready(&send->orders[true], progress);
}

static bool is_over(const struct baton_kv_send *send)
{
    return send->is_whole && baton_kv_order_is_over(&send->orders[false]) &&
           baton_kv_order_is_over(&send->orders[true]);
}

/* Sends until ready blocks, credit or the link's queue run out. */
static enum baton_err send_ready(const struct baton_kv_sender *sender, struct baton_kv_send *send)
{
    struct baton_kv_progress progress = baton_kv_progress_read(send->source.progress);
    struct baton_kv_extent extent;
    struct baton_kv_order *order;
    enum baton_err err = BATON_OK;
    /* Without overlap no block leaves before all are computed: sending slows the computation. */
    if (!send->overlaps && !is_computed(send, progress))
        return BATON_OK;
    if (send->source.grows && send->state == BATON_KV_SEND_OPEN)
        err = send_begin(sender, send); /* early: the sequence stops only after the answer */
    while (!err && has_credit(send) && next_extent(send, progress, &extent, &order)) {
        if (send->state == BATON_KV_SEND_OPEN) /* not earlier: a canceled prompt sends no KvBegin */
            err = send_begin(sender, send);
        if (!err && has_no_path(sender, send->peer))
            err = BATON_PEER;
        if (!err && !may_send_blocks(sender, send))
            return BATON_OK;
        if (!err)
            err = send_chunk(send, order, &extent);
    }
    if (!err && send->state == BATON_KV_SEND_SENDING && is_over(send))
        err = send_end(send);
    return err == BATON_AGAIN ? BATON_OK : err; /* a full queue: the link wakes us when it drains */
}

bool baton_kv_send_pump(const struct baton_kv_sender *sender, struct baton_kv_send *send)
{
    if (send->state == BATON_KV_SEND_ACKED)
        return true;
    enum baton_err err = is_down(send->peer) ? BATON_CLOSED : send_ready(sender, send);
    if (err && send->source.stripes)
        baton_origin_fail(send->source.origin, BATON__V1__FAILED__CODE__CONTEXT_LOST,
                          "the link to another worker that computes the prompt went down");
    else if (err && send->peer->is_cut)
        baton_origin_fail(send->source.origin, BATON__V1__FAILED__CODE__UNREACHABLE,
                          "the decode worker acknowledges nothing of the hand-off");
    else if (err == BATON_PEER)
        baton_origin_fail(send->source.origin, BATON__V1__FAILED__CODE__UNREACHABLE,
                          "the decode worker does not map this worker's KV cache, and no context "
                          "may go over the link (--kv-path shared)");
    else if (err)
        baton_origin_fail(send->source.origin, BATON__V1__FAILED__CODE__CONTEXT_LOST,
                          "the link to the decode worker went down during the hand-off");
    return err != BATON_OK;
}

/* ---- acknowledgements ---- */

static struct baton_kv_send *find_send(const struct baton_kv_peer *peer,
                                       const baton_envelope *envelope)
{
    struct baton_kv_send *send = send_list_first(&peer->sends);
    while (send && !baton_origin_is_request(send->source.origin, envelope))
        send = send_list_next(&peer->sends, send);
    return send;
}

static void log_acked(const struct baton_kv_send *send, int64_t now_ns)
{
    baton_log(BATON_LOG_INFO, "handoff", BATON_ORIGIN(send->source.origin),
              BATON_I("attempt", send->source.origin->attempt), BATON_I("bytes", send->sent_bytes),
              BATON_I("chunks", send->n_chunks),
              BATON_F("duration_s", baton_seconds(now_ns - send->began_ns)));
}

bool baton_kv_sender_handle_ack(struct baton_kv_sender *sender, const struct baton_message *message,
                                int64_t now_ns)
{
    const baton_envelope *envelope = message->envelope;
    struct baton_kv_peer *peer = peer_list_first(&sender->peers);
    while (peer && (!peer->link || baton_link_id(peer->link) != envelope->link))
        peer = peer_list_next(&sender->peers, peer);
    if (!peer)
        return false;
    enum baton_link_verdict verdict = baton_link_accept(peer->link, envelope, now_ns);
    peer->n_acks += verdict == BATON_LINK_FRESH;
    if (verdict == BATON_LINK_FRESH)
        handle_share_answer(peer, envelope->kv_ack->shares);
    if (verdict == BATON_LINK_GAP)
        baton_link_close(peer->link); /* its transfers find it down at their next pump */
    struct baton_kv_send *send = verdict == BATON_LINK_FRESH ? find_send(peer, envelope) : NULL;
    if (!send || envelope->kv_ack->offset > send->sent_bytes)
        return true;
    send->answered = true;
    send->acked_bytes = envelope->kv_ack->offset;
    send->credit_bytes = envelope->kv_ack->credit_bytes;
    if (envelope->kv_ack->complete && send->state == BATON_KV_SEND_SENT) {
        set_state(send, BATON_KV_SEND_ACKED);
        log_acked(send, now_ns);
    }
    return true;
}
