#include "worker/kv/receiver.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/frame.h"
#include "common/wire/handoff.h"

/* The chunks that may wait for the main thread. Credit bounds the bytes in flight of one transfer;
 * this bounds those of all senders: when the queue is full, NNG stops reading from their pipes. */
enum { BULK_MAX_QUEUED = 64 };

/* The Envelope of a KvBegin is the largest one here, because of its texts. */
enum { BULK_MAX_HEADER = 4096 };

/* Without a socket for offers contexts travel over the link, unless --kv-path forbids it. */
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
    baton_kv_remote_list_init(&receiver->remotes);
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
    baton_kv_remote_list_remove(&receiver->remotes, remote);
    baton_link_close(remote->link);
    baton_link_release(remote->link);
    baton_kv_view_close(remote->view);
    free(remote);
}

void baton_kv_receiver_destroy(struct baton_kv_receiver *receiver)
{
    if (!receiver)
        return;
    for (struct baton_kv_remote *remote; (remote = baton_kv_remote_list_first(&receiver->remotes));)
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
    stats->n_rejected += baton_kv_share_n_refused(receiver->share);
}

struct baton_ticket baton_kv_receiver_ticket(const struct baton_kv_receiver *receiver,
                                             const struct baton_origin *origin)
{
    return baton_ticket_issue(&receiver->ticket_key, origin->request_id, origin->attempt);
}

bool baton_kv_receiver_has_ticket(const struct baton_kv_receiver *receiver,
                                  const baton_envelope *envelope)
{
    const ProtobufCBinaryData *shown = &envelope->kv_begin->ticket;
    return baton_ticket_is_valid(&receiver->ticket_key, envelope->request_id, envelope->attempt,
                                 shown->data, shown->len);
}

/* ---- senders ---- */

static struct baton_kv_remote *find_remote(const struct baton_kv_receiver *receiver, uint64_t link)
{
    struct baton_kv_remote *remote = baton_kv_remote_list_first(&receiver->remotes);
    while (remote && baton_link_id(remote->link) != link)
        remote = baton_kv_remote_list_next(&receiver->remotes, remote);
    return remote;
}

/* Whether a KvBegin has no valid ticket. Its sender gets no answer; its pipe is closed. */
static bool is_strangers(const struct baton_kv_receiver *receiver,
                         const struct baton_message *message)
{
    static struct baton_log_limit limit;
    const baton_envelope *envelope = message->envelope;
    if (envelope->dst_epoch == receiver->options.epoch &&
        baton_kv_receiver_has_ticket(receiver, envelope))
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

/* Sends a first KvAck: the sender's inbox treats our pipe as a stranger's until a message comes on
 * it. Nothing has arrived yet, and the credit is that of every ack. */
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

/* Opens our half of an unknown link at its first message. Any other message belongs to a link that
 * has ended here, and a link never recovers. */
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
    baton_kv_receive_list_init(&remote->receives);
    baton_kv_remote_list_push_back(&receiver->remotes, remote);
    return remote;
}

/* Fails every running transfer of that sender: it is lost with its link. */
static void lose_remote(struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                        const char *message)
{
    for (struct baton_kv_receive *receive;
         (receive = baton_kv_receive_list_first(&remote->receives));)
        baton_kv_receive_lose(receiver, receive, message);
    drop_remote(receiver, remote);
}

/* Ends the link of a false claimant with all its transfers; the context stays with its first
 * sender. */
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
                      BATON_S("reason", "the context belongs to another sender"));
    baton_inbox_reject(receiver->inbox, message);
    lose_remote(receiver, remote, "the hand-off's link was closed because of a false claim");
}

static bool is_early(const struct baton_kv_receiver *receiver, const baton_envelope *envelope)
{
    return envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_BEGIN &&
           receiver->options.is_early && baton_kv_receiver_has_ticket(receiver, envelope) &&
           receiver->options.is_early(receiver->options.arg, envelope);
}

/* False: the message is early and must be handled again later. */
static bool handle_or_wait(struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                           const struct baton_message *message, int64_t now_ns)
{
    if (is_early(receiver, message->envelope))
        return false;
    if (!baton_kv_receive_handle(receiver, remote, message, now_ns))
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
    case BATON_LINK_STALE: /* of an earlier life: nothing depends on it */
        break;
    case BATON_LINK_GAP:
        baton_inbox_reject(receiver->inbox, message);
        lose_remote(receiver, remote, "the hand-off lost a message");
        break;
    }
    return true;
}

/* Whether no message waits any more: the owner knows what to expect by now, or the request is
 * over. */
static bool handle_early(struct baton_kv_receiver *receiver, int64_t now_ns)
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

/* False when there are more messages than a turn handles. */
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
    baton_kv_share_poll(receiver->share);
    if (!handle_early(receiver, now_ns))
        return; /* later messages wait, since the order of a link counts */
    if (!receive_messages(receiver, now_ns))
        return; /* a lost sender's earlier messages still count, so its transfers fail later */
    for (struct baton_kv_remote *remote = baton_kv_remote_list_first(&receiver->remotes), *next;
         remote; remote = next) {
        next = baton_kv_remote_list_next(&receiver->remotes, remote);
        if (baton_link_state(remote->link) == BATON_OUTBOX_DOWN)
            lose_remote(receiver, remote, "the sending worker went away during the hand-off");
    }
}
