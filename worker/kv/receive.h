/* Receiving contexts: sequences' K and V that other workers send here are checked, copied block by
 * block into the reserved blocks, and acknowledged with credit.
 *
 * Contexts have an inbox of their own, so that tensors never queue before heartbeats and tokens.
 * Blocks that a sequence shares with earlier prompts do not travel. A sequence that still runs
 * elsewhere grows meanwhile: KvEnd has its final length. Blocks of a sender on this host need not
 * travel either: they are copied out of its pool (share.h).
 *
 *     EXPECTED --KvBegin--> RECEIVING --KvEnd, every byte is here--> COMPLETE
 *
 * Everyone who reaches the port can send a KvBegin. It must show the ticket that the receiver
 * issued with the reservation: without one nothing is opened, dialled or looked up. The first
 * KvBegin with the ticket gets the context. A second one ends its own link and does not affect the
 * context.
 *
 * Ownership: the receiver owns the inbox and the links back to the senders. A transfer is its
 *            caller's, from expect to fini, and borrows the sequence.
 * Threading: main thread.
 * Errors:    create: as baton_inbox_open, and as baton_kv_share_open when the path is shared. A
 *            gap, a bad frame, a message that does not fit and a lost sender fail the transfer: its
 *            origin is sent CONTEXT_LOST, or OTHER_LAYOUT for another KV layout, and the hook
 *            `failed` is called.
 */
#ifndef BATON_WORKER_KV_RECEIVE_H
#define BATON_WORKER_KV_RECEIVE_H

#include "common/base/list.h"
#include "common/base/ticket.h"
#include "engine/kv.h"
#include "worker/kv/transfer.h"
#include "worker/origin.h"

enum { BATON_KV_MAX_REMOTES = 1024 }; /* links to senders at a time */

/* The most bytes that are copied before the owner handles its other messages. They take
 * milliseconds if pages of the pool are touched for the first time. */
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
    int n_tokens;          /* at least so many while a sequence grows */
    int n_tokens_max;      /* 0: it does not grow */
    int first_block;       /* to arrive; the sequence has those before it */
    const struct baton_kv_stripes *stripes; /* of workers that compute a prompt; NULL: a context */
    int part;                               /* of these, the sender */

    struct baton_kv_remote *sender; /* NULL unless RECEIVING */
    uint64_t link;                  /* id of the sender's; 0: nothing has arrived */
    struct baton_kv_arrival arrival;
    int first_window; /* first block of layers with a window; -1: none, or not known yet */
    uint64_t total_bytes, received_bytes, acked_bytes;
    uint64_t shared_bytes; /* of those received, copied out of the sender's pool */
    uint32_t n_chunks;
    int64_t began_ns, complete_ns;
    double crc_s;     /* spent on checking payloads here */
    double overlap_s; /* by the sender: the time that it overlapped the context's computation */
};

struct baton_kv_receiver_options {
    const char *bulk_url; /* where to listen */
    uint64_t epoch;
    enum baton_kv_path path;
    const struct baton_kv *kv; /* the destination of contexts; unused when path is wire */
    int64_t connect_ns;        /* a sender that cannot be dialled within it is given up; 0: never */
    void (*wake)(void *arg);
    void *wake_arg;

    void *arg; /* of the hooks */
    /* Finds the transfer of a message; NULL when it is not wanted any more. */
    struct baton_kv_receive *(*find)(void *arg, const baton_envelope *envelope);
    /* Called at an expected KvBegin: false when the context may not be received now. NULL: it
     * always may. */
    bool (*begin)(void *arg, struct baton_kv_receive *receive);
    /* Whether the KvBegin came before the owner knows what to expect for its request: it and all
     * later messages wait. NULL where that does not happen. */
    bool (*is_early)(void *arg, const baton_envelope *envelope);
    /* Called when blocks of a part arrived in that layer (baton_kv_receive_next_block). NULL where
     * no part comes. */
    void (*advanced)(void *arg, struct baton_kv_receive *receive, int layer);
    /* Called at its end. Neither may fini the transfer; complete may be NULL. */
    void (*complete)(void *arg, struct baton_kv_receive *receive);
    void (*failed)(void *arg, struct baton_kv_receive *receive);
};

enum baton_err baton_kv_receiver_create(const struct baton_kv_receiver_options *options,
                                        struct baton_kv_receiver **receiver,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Every transfer must have ended with fini before. */
void baton_kv_receiver_destroy(struct baton_kv_receiver *receiver);

/* The URL of the bulk inbox, with the real port. */
const char *baton_kv_receiver_url(const struct baton_kv_receiver *receiver);

/* The messages of the bulk inbox, received and rejected; offers of pools count as messages. */
void baton_kv_receiver_get_stats(const struct baton_kv_receiver *receiver,
                                 struct baton_inbox_stats *stats);

/* The ticket that a KvBegin for this request must show; the gateway passes it on. */
struct baton_ticket baton_kv_receiver_ticket(const struct baton_kv_receiver *receiver,
                                             const struct baton_origin *origin);

/* Handles the messages that have arrived, about BATON_KV_RECEIVE_TURN_BYTES of them, and wakes the
 * owner when there are more. Then fails the transfers of lost senders. */
void baton_kv_receiver_work(struct baton_kv_receiver *receiver, int64_t now_ns);

/* Allows n_tokens positions of seq to arrive from now on; up to n_tokens_max for a sequence that
 * grows meanwhile, which is otherwise 0. All pointers are borrowed. */
void baton_kv_receive_expect(struct baton_kv_receive *receive, const struct baton_origin *origin,
                             struct baton_seq *seq, int n_tokens, int n_tokens_max);

/* Allows the blocks of a part to arrive from now on, those of first_block..end_block - 1 of seq:
 * the other worker computes them of a prompt that this worker computes as well. seq's length does
 * not change. There is at least one block. All pointers are borrowed. */
void baton_kv_receive_expect_part(struct baton_kv_receive *receive,
                                  const struct baton_origin *origin, struct baton_seq *seq,
                                  int first_block, int end_block,
                                  const struct baton_kv_stripes *stripes, int part);

/* The first block of the layer that has not arrived: the sender's blocks before it are here. */
int baton_kv_receive_next_block(const struct baton_kv_receive *receive, int layer);

/* Ends the transfer; later messages of it are ignored. */
void baton_kv_receive_fini(struct baton_kv_receive *receive);

#endif
