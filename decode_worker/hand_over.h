/* Handing a running sequence over to another decode worker, with its KV cache.
 *
 *     none --HandOver--> wanted --RUNNING, its turn--> sending beside the steps --caught up-->
 *     stopping --given back--> DC_STOPPED, the rest leaves --KvAck, complete--> HandedOver, gone
 *
 * The sequence makes tokens until what is complete of its cache has left, so its pause is the way
 * of its last block and of three messages (Llumnix, arXiv 2406.03243). Until HandedOver it belongs
 * here: a hand-over that breaks or is canceled lets it go on as if nothing had been.
 *
 * They share the way, so few bytes are on it at a time, and the last block of each waits shortly.
 *
 * Ownership: a context owns its hand-over; the sender outlives it.
 * Threading: main thread, except the fields under "shared".
 * Errors:    a hand-over that breaks is Failed, with the receiver's attempt.
 */
#ifndef BATON_DECODE_WORKER_HAND_OVER_H
#define BATON_DECODE_WORKER_HAND_OVER_H

#include "worker/kv/send.h"

/* Sent at a time; and no other begins while more bytes than these are on their way. */
enum { DC_MAX_HAND_OVERS = 16, DC_HAND_OVER_BYTES = 4 << 20 };

struct dc_context;

struct dc_hand_over {
    bool wanted;
    struct baton_origin origin; /* the request, in the attempt that the receiver knows */
    struct baton_kv_target target;
    struct baton_kv_send send;

    /* shared between the main and the engine thread */
    atomic_bool stops; /* the engine thread is to give the context back */
    baton_kv_progress_word progress;
    atomic_int_least64_t stopped_ns; /* 0: it makes tokens */
};

/* A HandOver came for the context. False when it does not fit, or another one is under way. */
bool dc_hand_over_take(struct dc_context *context, const baton_envelope *envelope);

/* Opens the transfer of a context that is RUNNING. NO_MEMORY. */
enum baton_err dc_hand_over_open(struct dc_context *context,
                                 struct baton_kv_sender *sender) BATON_MUST_CHECK;

/* What is sent of it and not acknowledged. */
static inline uint64_t dc_hand_over_bytes(const struct dc_hand_over *hand_over)
{
    return hand_over->send.state == BATON_KV_SEND_IDLE
               ? 0
               : hand_over->send.sent_bytes - hand_over->send.acked_bytes;
}

/* Sends what can be sent, and has the engine thread give the context back when it has caught up;
 * the caller then wakes that thread. True when the transfer is over: ACKED, or broken. */
bool dc_hand_over_pump(struct dc_context *context, const struct baton_kv_sender *sender);

/* The engine thread gave the context back: what is left of it may leave. */
void dc_hand_over_stopped(struct dc_context *context);

/* The receiver has everything: tells the gateway. AGAIN: try again soon; the context keeps until
 * then. */
enum baton_err dc_hand_over_tell(const struct dc_context *context) BATON_MUST_CHECK;

/* Forgets the hand-over; the caller lets the context go on. Harmless when there is none. */
void dc_hand_over_drop(struct dc_hand_over *hand_over);

#endif
