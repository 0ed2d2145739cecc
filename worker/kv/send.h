/* Sending a context: a sequence's K and V on their way to the worker that the gateway named.
 *
 * Blocks leave in chunks (transfer.h), as far as the receiver's credit reaches: each layer as soon
 * as the engine is through with it, or, for transfers that do not overlap, once the last block is
 * complete. A link belongs to one life of one receiver and carries all transfers to it; a link that
 * goes down takes its transfers with it.
 *
 *     IDLE --open--> OPEN --KvBegin--> SENDING --KvEnd--> SENT --KvAck, complete--> ACKED
 *
 * A transfer may be closed in every state, and is IDLE then.
 *
 * A pool in shared memory is offered to the receiver with the first word on a link (offer.h).
 * Once the receiver says that it has mapped it, chunks only tell where their blocks lie.
 *
 * A sequence that still runs grows while it is sent: whole blocks leave as they become complete,
 * and once the sequence has stopped, stop says how long it became. Layers with a window send that
 * alone: of a sequence that grows it is not known before stop, and leaves then.
 *
 * Of a prompt that several workers compute, each sends the others the blocks that they wait for:
 * its own ones (transfer.h), of all positions in every layer, as soon as they are computed.
 *
 * Ownership: the sender owns links; transfers are their callers' and borrow their source
 *            from open to close.
 * Threading: main thread. The engine thread may read `overlaps` of a transfer that was opened
 *            before it got the sequence.
 * Errors:    open: NO_MEMORY. A transfer that breaks is reported to its origin as Failed
 *            CONTEXT_LOST, or UNREACHABLE when the way to the receiver is cut, or when contexts are
 *            to go through shared memory only and the receiver cannot map it.
 */
#ifndef BATON_WORKER_KV_SEND_H
#define BATON_WORKER_KV_SEND_H

#include "common/base/list.h"
#include "common/base/ticket.h"
#include "common/policy/overlap.h"
#include "engine/kv.h"
#include "worker/kv/transfer.h"
#include "worker/origin.h"

struct baton_kv_sender;

struct baton_kv_sender_options {
    uint64_t epoch;
    const char *reply_url; /* this worker's inbox as others reach it */
    int64_t connect_ns;    /* a receiver that cannot be dialled within it is given up; 0: never */
    enum baton_overlap overlap;
    enum baton_kv_path path;
    int64_t beat_ns; /* the fleet's: a way is judged after some without an ack; 0: never */
    void (*wake)(void *arg);
    void *wake_arg;
};

/* To whom: DeliverTo, kept. */
struct baton_kv_target {
    char url[BATON_MAX_TEXT_BYTES + 1]; /* the receiver's bulk inbox */
    uint64_t epoch;                     /* the receiver's life */
    int first_block;                    /* it has those before it */
    struct baton_ticket ticket;         /* that it gave with the reservation */
};

/* What a transfer sends, and to whom. */
struct baton_kv_source {
    const struct baton_origin *origin;      /* the request that the context belongs to */
    const struct baton_seq *seq;            /* has its blocks */
    baton_kv_progress_word *progress;       /* how far they are computed */
    atomic_int_least64_t *computed_ns;      /* when all of them were; 0: not yet */
    int n_tokens, n_cached_tokens;          /* positions to send; of them, computed before */
    const struct baton_kv_stripes *stripes; /* of several workers that compute the prompt; NULL */
    int part;                               /* of these, this worker: it sends its own blocks */
    bool grows;                             /* n_tokens is only what it has by now, at least */
    const struct baton_kv_target *target;
};

enum baton_kv_send_state {
    BATON_KV_SEND_IDLE,
    BATON_KV_SEND_OPEN,
    BATON_KV_SEND_SENDING,
    BATON_KV_SEND_SENT,
    BATON_KV_SEND_ACKED,
    BATON_KV_SEND_N_STATES
};

/* One transfer. Zeroed it is IDLE. */
struct baton_kv_send {
    struct baton_node in_peer;
    enum baton_kv_send_state state; /* send.c: set_state alone changes it */
    struct baton_kv_source source;
    struct baton_kv_peer *peer;
    bool overlaps;                   /* blocks leave while later ones are computed */
    bool answered;                   /* a KvAck came: the receiver takes it */
    bool is_whole;                   /* how long the sequence becomes is known */
    bool waits_for_share;            /* its blocks, for the receiver's word on the pool */
    struct baton_kv_order orders[2]; /* of layers without a window, and of those with one */
    uint64_t sent_bytes, acked_bytes, credit_bytes;
    uint32_t n_chunks;
    int64_t began_ns;
};

/* deliver_to: checked, as all that came by an inbox is. */
void baton_kv_target_take(struct baton_kv_target *target, const Baton__V1__DeliverTo *deliver_to);

struct baton_kv_sender *baton_kv_sender_create(const struct baton_kv_sender_options *options);

/* Every transfer was closed before. */
void baton_kv_sender_destroy(struct baton_kv_sender *sender);

/* A KvAck arrived. Whether it came by a link of ours. */
bool baton_kv_sender_take_ack(struct baton_kv_sender *sender, const struct baton_message *message,
                              int64_t now_ns);

/* Closes the links behind which nobody acknowledges, so that the next pump of their transfers finds
 * them broken, and a new link is dialled for those that follow. */
void baton_kv_sender_look(struct baton_kv_sender *sender, int64_t now_ns);

/* Forgets links that are down and that no transfer uses. */
void baton_kv_sender_tidy(struct baton_kv_sender *sender);

/* IDLE -> OPEN. The link to the receiver is dialled with the first KvBegin on it. NO_MEMORY. */
enum baton_err baton_kv_send_open(struct baton_kv_sender *sender, struct baton_kv_send *send,
                                  const struct baton_kv_source *source) BATON_MUST_CHECK;

/* Sends the blocks that are ready. True when the transfer is over: ACKED, or broken. */
bool baton_kv_send_pump(const struct baton_kv_sender *sender, struct baton_kv_send *send);

/* Of a sequence that grows: whether the receiver answers and, but for what an acknowledgement is
 * still awaited of, has every block that is ready. */
bool baton_kv_send_has_caught_up(struct baton_kv_send *send);

/* The sequence that grew has stopped at n_tokens, all ready by its progress. */
void baton_kv_send_stop(struct baton_kv_send *send, int n_tokens);

/* Lets go of the link. Harmless when IDLE. */
void baton_kv_send_close(struct baton_kv_send *send);

#endif
