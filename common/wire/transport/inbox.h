/* An inbox: the socket a process listens on, where all messages to it arrive.
 *
 * NNG's threads receive and queue; the owner is woken and takes. When the queue is full no further
 * message is received, which the senders feel as back-pressure. Pipes are few and short of time and
 * memory until the owner admits a message of theirs.
 *
 * Ownership: a taken message belongs to the taker until baton_message_fini.
 * Threading: take, reject, end_pipe, close and get_stats from one thread; message_fini from any.
 *            wake is called from NNG's threads and must not block (uv_async_send and
 *            baton_doorbell_ring do not).
 * Errors:    open: INVALID (url), IO (address in use), NO_MEMORY, with the url in *why.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_INBOX_H
#define BATON_COMMON_WIRE_TRANSPORT_INBOX_H

#include <stdbool.h>

#include "common/wire/envelope/envelope.h"

struct baton_inbox;

struct baton_inbox_options {
    const char *url;          /* "tcp://127.0.0.1:0": port 0 takes a free one */
    size_t max_queued;        /* messages waiting to be taken */
    size_t max_queued_bytes;  /* of them together, one message more at most; 0: 64 MiB */
    size_t max_message_bytes; /* a larger one costs its sender the pipe; 0: the largest frame */
    int64_t patience_ns;      /* for a pipe's first admitted message; 0: 5 s */
    void (*wake)(void *arg);
    void *wake_arg;
};

struct baton_message {
    baton_envelope *envelope;
    const uint8_t *payload; /* aligned to 4 bytes at least */
    size_t payload_bytes;
    double crc_s;       /* what checking the frame took, nearly all of it for the CRCs */
    char peer_host[48]; /* numeric address the message came from */
    uint32_t pipe;      /* NNG's number of the connection; never used again */
    /* private */
    void *nng_msg;
    struct baton_arena *arena;
};

/* Pipes that were ended before a message with a right to be here came by them (strangers.h). */
struct baton_strangers_stats {
    size_t n_open; /* with those that are about to be hung up */
    uint64_t n_crowded, n_silent, n_greedy;
};

struct baton_inbox_stats {
    uint64_t n_received, n_bytes; /* taken */
    uint64_t n_rejected;          /* by the inbox or its owner */
    struct baton_strangers_stats strangers;
};

/* Listens and begins to receive. */
enum baton_err baton_inbox_open(const struct baton_inbox_options *options,
                                struct baton_inbox **inbox, struct baton_why *why) BATON_MUST_CHECK;

/* Ends every connection, stops receiving, then frees the queue. Not from a callback. */
void baton_inbox_close(struct baton_inbox *inbox);

/* The url with the real port, as listened on ("tcp://127.0.0.1:40123"). */
const char *baton_inbox_url(const struct baton_inbox *inbox);

/* Takes the oldest well-formed message; false when there is none. Messages that are no valid frame
 * or envelope are counted, logged, and their pipe is closed, so that the sender's link goes down.
 */
bool baton_inbox_take(struct baton_inbox *inbox, struct baton_message *message);

/* The message has a right to be here, so the pipe that it came by is no stranger's any more
 * (strangers.h). Cheap when it is none: meant to be said of every such message. */
void baton_inbox_admit(struct baton_inbox *inbox, const struct baton_message *message);

/* Rejects the message if a stranger sent it. */
void baton_inbox_reject_stranger(struct baton_inbox *inbox, const struct baton_message *message);

/* Closes the pipe a message came by and drops what else came by it: its sender broke the protocol
 * (a gap, a stale life) and must begin a new link. The message is still to be finished by the
 * caller. */
void baton_inbox_reject(struct baton_inbox *inbox, const struct baton_message *message);

/* The same of a pipe, by the number in a message that came by it: its sender has lost the right
 * to be here. Harmless when it is gone. */
void baton_inbox_end_pipe(struct baton_inbox *inbox, uint32_t pipe);

/* Frees the envelope and the payload. */
void baton_message_fini(struct baton_message *message);

void baton_inbox_get_stats(const struct baton_inbox *inbox, struct baton_inbox_stats *stats);

#endif
