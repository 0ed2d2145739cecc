/* Sending a context: a sequence's K and V to the worker that the gateway named.
 *
 * Blocks leave in chunks (transfer.h), as far as the receiver's credit allows: each layer as soon
 * as the engine has finished it, or, for transfers that do not overlap, once the last block is
 * complete. A link belongs to one life of one receiver and carries all transfers to it; when it
 * goes down, they all fail.
 *
 *     IDLE --open--> OPEN --KvBegin--> SENDING --KvEnd--> SENT --KvAck, complete--> ACKED
 *
 * A transfer may be closed in every state, and is IDLE then.
 *
 * A pool in shared memory is offered to the receiver with the first message on a link (offer.h).
 * Once the receiver has confirmed that it maps the pool, chunks only have the places of their
 * blocks.
 *
 * A sequence that still runs grows while it is sent: whole blocks leave as they become complete,
 * and once the sequence has stopped, stop sets its final length. Layers with a window send only
 * that: for a sequence that grows it is not known before stop, and leaves then.
 *
 * When several workers compute a prompt, each sends the others the blocks that they wait for: its
 * own ones (transfer.h), of all positions in every layer, as soon as they are computed.
 *
 * Ownership: the sender owns links; transfers are their callers' and borrow their source
 *            from open to close.
 * Threading: main thread. The engine thread may read `overlaps` of a transfer that was opened
 *            before it got the sequence.
 * Errors:    open: NO_MEMORY. A transfer that breaks is reported to its origin as Failed
 *            CONTEXT_LOST, or UNREACHABLE when the path to the receiver is cut, or when contexts
 *            may go through shared memory only and the receiver cannot map it.
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
    const char *reply_url; /* this worker's inbox, as others reach it */
    int64_t connect_ns;    /* a receiver that cannot be dialled within it is given up; 0: never */
    enum baton_overlap overlap;
    enum baton_kv_path path;
    int64_t beat_ns; /* the fleet's: a path without acks for some beats is cut; 0: never */
    void (*wake)(void *arg);
    void *wake_arg;
};

/* The receiver of a transfer: a copy of DeliverTo. */
struct baton_kv_target {
    char url[BATON_MAX_TEXT_BYTES + 1]; /* the receiver's bulk inbox */
    uint64_t epoch;                     /* the receiver's life */
    int first_block;                    /* to send; it has those before it */
    struct baton_ticket ticket;         /* that it issued with the reservation */
};

/* The contents and the receiver of a transfer. */
struct baton_kv_source {
    const struct baton_origin *origin;      /* the request that the context belongs to */
    const struct baton_seq *seq;            /* has its blocks */
    baton_kv_progress_word *progress;       /* how far they are computed */
    atomic_int_least64_t *computed_ns;      /* when all of them were; 0: not yet */
    int n_tokens, n_cached_tokens;          /* positions to send; of them, computed before */
    const struct baton_kv_stripes *stripes; /* of several workers that compute the prompt; NULL */
    int part;                               /* of these, this worker: it sends its own blocks */
    bool grows;                             /* n_tokens is a lower bound until stop */
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
    bool answered;                   /* a KvAck came: the receiver accepts the transfer */
    bool is_whole;                   /* the final length of the sequence is known */
    bool waits_for_share;            /* its blocks wait for the answer to the offer of the pool */
    struct baton_kv_order orders[2]; /* of layers without a window, and of those with one */
    uint64_t sent_bytes, acked_bytes, credit_bytes;
    uint32_t n_chunks;
    int64_t began_ns;
};

/* Copies deliver_to, which was checked when it arrived. */
void baton_kv_target_set(struct baton_kv_target *target, const Baton__V1__DeliverTo *deliver_to);

struct baton_kv_sender *baton_kv_sender_create(const struct baton_kv_sender_options *options);

/* Every transfer must have been closed before. */
void baton_kv_sender_destroy(struct baton_kv_sender *sender);

/* Handles a KvAck. Returns whether it came on a link of ours. */
bool baton_kv_sender_handle_ack(struct baton_kv_sender *sender, const struct baton_message *message,
                                int64_t now_ns);

/* Closes links on which nobody acknowledges, so that the next pump of their transfers finds them
 * broken, and later transfers dial a new link. */
void baton_kv_sender_check_paths(struct baton_kv_sender *sender, int64_t now_ns);

/* Frees links that are down and that no transfer uses. */
void baton_kv_sender_tidy(struct baton_kv_sender *sender);

/* IDLE -> OPEN. The link to the receiver is dialled with the first KvBegin on it. NO_MEMORY. */
enum baton_err baton_kv_send_open(struct baton_kv_sender *sender, struct baton_kv_send *send,
                                  const struct baton_kv_source *source) BATON_MUST_CHECK;

/* Sends the blocks that are ready. True when the transfer is over: ACKED, or broken. */
bool baton_kv_send_pump(const struct baton_kv_sender *sender, struct baton_kv_send *send);

/* For a sequence that grows: whether the receiver answers and has every block that is ready, apart
 * from the last ones, whose acknowledgement may still be missing. */
bool baton_kv_send_has_caught_up(struct baton_kv_send *send);

/* Sets the final length of a sequence that grew, whose blocks are all ready by its progress. */
void baton_kv_send_stop(struct baton_kv_send *send, int n_tokens);

/* Ends the transfer, in any state. Harmless when IDLE. */
void baton_kv_send_close(struct baton_kv_send *send);

#endif
