/* The private interface between the receiver of contexts (receiver.c) and its transfers
 * (receive.c); receive.h is the public one.
 *
 * Ownership: as in receive.h.
 * Threading: main thread.
 * Errors:    as in receive.h.
 */
#ifndef BATON_WORKER_KV_RECEIVER_H
#define BATON_WORKER_KV_RECEIVER_H

#include "common/wire/link.h"
#include "common/wire/transport/inbox.h"
#include "worker/kv/receive.h"
#include "worker/kv/share.h"

BATON_LIST(baton_kv_receive_list, struct baton_kv_receive, in_sender)

/* A worker that sends to us, identified by the link that it chose. */
struct baton_kv_remote {
    struct baton_node in_remotes;
    struct baton_link *link;
    struct baton_kv_view *view;            /* of its pool; NULL: its contexts travel */
    struct baton_kv_receive_list receives; /* that are running */
};

BATON_LIST(baton_kv_remote_list, struct baton_kv_remote, in_remotes)

struct baton_kv_receiver {
    struct baton_kv_receiver_options options;
    struct baton_inbox *inbox;
    struct baton_kv_remote_list remotes;
    struct baton_ticket_key ticket_key;
    struct baton_kv_share *share; /* NULL: there is none */
    size_t turn_bytes;            /* handled in this turn */
    struct baton_message early;   /* a KvBegin that came before the details of its request */
    bool has_early;
};

/* Whether a KvBegin shows the ticket that was issued with its reservation. */
bool baton_kv_receiver_has_ticket(const struct baton_kv_receiver *receiver,
                                  const baton_envelope *envelope);

/* Passes a message of the remote to its transfer, if that is still wanted. False: the sender has no
 * right to the context, and its link must end. */
bool baton_kv_receive_handle(struct baton_kv_receiver *receiver, struct baton_kv_remote *remote,
                             const struct baton_message *message, int64_t now_ns);

/* Fails the transfer and sends CONTEXT_LOST to its origin. */
void baton_kv_receive_lose(const struct baton_kv_receiver *receiver,
                           struct baton_kv_receive *receive, const char *message);

#endif
