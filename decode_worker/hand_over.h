/* Hands a running sequence over to another decode worker, with its KV cache.
 *
 *     none --HandOver--> wanted --RUNNING, its turn--> sending beside the steps --caught up-->
 *     stopping --given back--> DC_STOPPED, the rest leaves --KvAck, complete--> HandedOver, gone
 *
 * The sequence generates tokens until the complete blocks of its cache are sent, so it only pauses
 * for its last block and three messages (Llumnix, arXiv 2406.03243). Until HandedOver it belongs to
 * this worker: if a hand-over breaks or is canceled, the sequence continues here.
 *
 * Hand-overs share one link, so only few bytes may be unacknowledged at a time: otherwise the last
 * block of each, for which its sequence pauses, would wait behind the others.
 *
 * Ownership: a context owns its hand-over; the sender outlives it.
 * Threading: main thread, except the fields under "shared".
 * Errors:    a hand-over that breaks is Failed, with the receiver's attempt.
 */
#ifndef BATON_DECODE_WORKER_HAND_OVER_H
#define BATON_DECODE_WORKER_HAND_OVER_H

#include "worker/kv/send.h"

/* The most hand-overs at a time; and no other one begins while more bytes are unacknowledged. */
enum { DC_MAX_HAND_OVERS = 16, DC_HAND_OVER_BYTES = 4 << 20 };

struct dc_context;

struct dc_hand_over {
    bool wanted;
    struct baton_origin origin; /* the request, with the receiver's attempt number */
    struct baton_kv_target target;
    struct baton_kv_send send;

    /* shared between the main and the engine thread */
    atomic_bool stops; /* asks the engine thread to hand the context back */
    baton_kv_progress_word progress;
    atomic_int_least64_t stopped_ns; /* 0: it still generates tokens */
};

/* Handles a HandOver for the context. False if it is invalid, or another one is under way. */
bool dc_hand_over_accept(struct dc_context *context, const baton_envelope *envelope);

/* Opens the transfer of a context that is RUNNING. NO_MEMORY. */
enum baton_err dc_hand_over_open(struct dc_context *context,
                                 struct baton_kv_sender *sender) BATON_MUST_CHECK;

/* The bytes that are sent and not acknowledged. */
static inline uint64_t dc_hand_over_bytes(const struct dc_hand_over *hand_over)
{
    return hand_over->send.state == BATON_KV_SEND_IDLE
               ? 0
               : hand_over->send.sent_bytes - hand_over->send.acked_bytes;
}

/* Sends the blocks that are ready, and sets `stops` when the transfer has caught up; the caller
 * then wakes the engine thread. True if the transfer is over: ACKED or broken. */
bool dc_hand_over_pump(struct dc_context *context, const struct baton_kv_sender *sender);

/* The engine thread has handed the context back: the remaining blocks may be sent. */
void dc_hand_over_stopped(struct dc_context *context);

/* The receiver has all blocks: sends HandedOver to the gateway. AGAIN: try again soon; the context
 * stays until then. */
enum baton_err dc_hand_over_report(const struct dc_context *context) BATON_MUST_CHECK;

/* Drops the hand-over, if any; the caller lets the context continue. */
void dc_hand_over_drop(struct dc_hand_over *hand_over);

#endif
