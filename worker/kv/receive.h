/* Receiving contexts: sequences' K and V that other workers send here, checked, copied block by
 * block into the blocks that were reserved for them, and acknowledged with credit.
 *
 * Contexts have an inbox of their own, so that tensors never queue before heartbeats and tokens.
 * Blocks that a sequence shares with earlier prompts do not travel. A sequence that runs elsewhere
 * meanwhile grows: KvEnd tells how long it became. Of a sender on this host blocks need not travel
 * either: they are copied out of its pool (share.h).
 *
 *     EXPECTED --KvBegin--> RECEIVING --KvEnd, every byte is here--> COMPLETE
 *
 * Whoever reaches the port can send a KvBegin. Only the ticket that the receiver issued with the
 * reservation makes it more than a stranger's: without one nothing is opened, dialled or looked up.
 * The first KvBegin with the ticket has the context. Another one ends the link that it came by, and
 * leaves the context alone.
 *
 * Ownership: the receiver owns the inbox and the links back to the senders. A transfer is its
 *            caller's, from expect to fini, and borrows the sequence.
 * Threading: main thread.
 * Errors: create: as baton_inbox_open, and as baton_kv_share_open when the path is shared. A gap,
 *            a bad frame, a message that does not fit and a sender that goes away fail the
 *            transfer: its origin is sent CONTEXT_LOST, or OTHER_LAYOUT for K and V that are laid
 *            out otherwise, and the hook `failed` is called.
 */
#ifndef BATON_WORKER_KV_RECEIVE_H
#define BATON_WORKER_KV_RECEIVE_H

#include "common/base/list.h"
#include "common/base/ticket.h"
#include "engine/kv.h"
#include "worker/kv/transfer.h"
#include "worker/origin.h"

enum { BATON_KV_MAX_REMOTES = 1024 }; /* links to senders at a time */

/* The owner's other messages wait while contexts are copied: for no longer than this takes, which
 * is milliseconds where pages of the pool are touched for the first time. */
enum { BATON_KV_RECEIVE_TURN_BYTES = 1 << 20 };

struct baton_kv_receiver;

enum baton_kv_receive_state {
    BATON_KV_RECEIVE_EXPECTED,
    BATON_KV_RECEIVE_RECEIVING,
    BATON_KV_RECEIVE_COMPLETE,
    BATON_KV_RECEIVE_N_STATES
};

/* One transfer. Zeroed it is valid to fini. */
struct baton_kv_receive {
    struct baton_node in_sender;
    enum baton_kv_receive_state state; /* receive.c: set_state alone changes it */
    const struct baton_origin *origin;
    struct baton_seq *seq; /* gets n_tokens when complete; its shared blocks do not travel */
    int n_tokens;          /* of a sequence that grows: at least so many, until it is complete */
    int n_tokens_max;      /* 0: it does not grow */
    int first_block;       /* those before it are here */
    const struct baton_kv_stripes *stripes; /* of workers that compute a prompt; NULL: a context */
    int part;                               /* of these, the sender */

    struct baton_kv_remote *sender; /* NULL unless RECEIVING */
    uint64_t link;                  /* id of the one it came in over; 0: nothing came */
    struct baton_kv_arrival arrival;
    int first_window; /* block that layers with a window began with, of a sequence that grows; -1 */
    uint64_t total_bytes, received_bytes, acked_bytes;
    uint64_t shared_bytes; /* of those received: out of the sender's pool */
    uint32_t n_chunks;
    int64_t began_ns, complete_ns;
    double crc_s;     /* spent checking payloads here */
    double overlap_s; /* as the sender says: it ran beside the computing of the context */
};

struct baton_kv_receiver_options {
    const char *bulk_url; /* where to listen */
    uint64_t epoch;
    enum baton_kv_path path;
    const struct baton_kv *kv; /* where contexts go; not looked at when path is wire */
    int64_t connect_ns;        /* a sender that cannot be dialled within it is given up; 0: never */
    void (*wake)(void *arg);
    void *wake_arg;

    void *arg; /* of the hooks */
    /* The transfer that a message is about; NULL when it is not wanted any more. */
    struct baton_kv_receive *(*find)(void *arg, const baton_envelope *envelope);
    /* A KvBegin came for it, as expected: false when the context may not be received now. NULL: it
     * always may. */
    bool (*begin)(void *arg, struct baton_kv_receive *receive);
    /* Whether the KvBegin is of a request of which the owner is still to be told what to expect: it
     * and what follows it wait. NULL where that does not happen. */
    bool (*is_early)(void *arg, const baton_envelope *envelope);
    /* Blocks of a part came, of that layer (baton_kv_receive_next_block). NULL where no part
     * comes. */
    void (*advanced)(void *arg, struct baton_kv_receive *receive, int layer);
    /* How it ended. Neither may fini the transfer; complete may be NULL. */
    void (*complete)(void *arg, struct baton_kv_receive *receive);
    void (*failed)(void *arg, struct baton_kv_receive *receive);
};

enum baton_err baton_kv_receiver_create(const struct baton_kv_receiver_options *options,
                                        struct baton_kv_receiver **receiver,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Every transfer was fini'd before. */
void baton_kv_receiver_destroy(struct baton_kv_receiver *receiver);

/* The bulk inbox as listened on, with the real port. */
const char *baton_kv_receiver_url(const struct baton_kv_receiver *receiver);

/* What came by the bulk inbox, and what it rejected; offers of pools count as messages. */
void baton_kv_receiver_get_stats(const struct baton_kv_receiver *receiver,
                                 struct baton_inbox_stats *stats);

/* The ticket that a KvBegin for this request must show; the gateway passes it on. */
struct baton_ticket baton_kv_receiver_ticket(const struct baton_kv_receiver *receiver,
                                             const struct baton_origin *origin);

/* Takes what has arrived, about BATON_KV_RECEIVE_TURN_BYTES of it, and wakes the owner when there
 * is more. Then fails the transfers of senders that went away. */
void baton_kv_receiver_work(struct baton_kv_receiver *receiver, int64_t now_ns);

/* From now on n_tokens positions of seq may arrive; of a sequence that grows meanwhile, up to
 * n_tokens_max, which is otherwise 0. All pointers are borrowed. */
void baton_kv_receive_expect(struct baton_kv_receive *receive, const struct baton_origin *origin,
                             struct baton_seq *seq, int n_tokens, int n_tokens_max);

/* From now on the blocks first_block..end_block - 1 of seq may arrive that the part computes of a
 * prompt that this worker computes as well; seq's length stays as it is. There is at least one. All
 * pointers are borrowed. */
void baton_kv_receive_expect_part(struct baton_kv_receive *receive,
                                  const struct baton_origin *origin, struct baton_seq *seq,
                                  int first_block, int end_block,
                                  const struct baton_kv_stripes *stripes, int part);

/* The sender's blocks of the layer before this one are here, as far as the sequence needs them. */
int baton_kv_receive_next_block(const struct baton_kv_receive *receive, int layer);

/* Forgets the transfer; later messages of it are ignored. */
void baton_kv_receive_fini(struct baton_kv_receive *receive);

#endif
