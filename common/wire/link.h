/* A link: two processes, one outbox each way, and the numbers that make a loss visible.
 *
 * The dialling side (a worker to a gateway; a prefill worker to a decode worker's bulk inbox)
 * chooses a random link id and sends first; the other side opens its half back with the same id.
 * Every envelope carries both epochs, the link id, a sequence number and the highest one received.
 * A link never recovers: after DOWN, a gap or silence both sides forget what it carried and begin
 * another.
 *
 * Ownership: counted; each pointer that is kept holds a reference. close ends the link for all
 *            holders (sends then say CLOSED), the last release frees it.
 * Threading: send, state and hold/release from any thread; accept, heard and close from one.
 * Errors:    send as outbox.h.
 */
#ifndef BATON_COMMON_WIRE_LINK_H
#define BATON_COMMON_WIRE_LINK_H

#include "common/wire/transport/inbox.h"
#include "common/wire/transport/outbox.h"

struct baton_link;

struct baton_link_options {
    const char *url;      /* the peer's inbox */
    uint64_t local_epoch; /* this process's life */
    uint64_t peer_epoch;  /* 0: not known yet, learnt from the first accepted message */
    uint64_t id;          /* 0: choose one (the dialling side) */
    size_t max_queued, max_queued_bytes; /* as outbox.h; 0: 4096 messages, 64 MiB */
    int64_t connect_ns;                  /* as outbox.h */
    void (*wake)(void *arg);
    void *wake_arg;
};

enum baton_link_verdict {
    BATON_LINK_FRESH, /* next in sequence: handle it */
    BATON_LINK_STALE, /* of another life or another link: drop it silently */
    BATON_LINK_GAP    /* something before it was lost: the link has failed */
};

/* Dials the peer's inbox; returns before it is reached. The caller holds the first reference. */
enum baton_err baton_link_open(const struct baton_link_options *options, struct baton_link **link,
                               struct baton_why *why) BATON_MUST_CHECK;
void baton_link_close(struct baton_link *link);
struct baton_link *baton_link_hold(struct baton_link *link); /* returns link */
void baton_link_release(struct baton_link *link);            /* NULL is fine */

/* Stamps epochs, link id, sequence and ack into the envelope, and queues it. */
enum baton_err baton_link_send(struct baton_link *link, baton_envelope *envelope,
                               const void *payload, size_t payload_bytes) BATON_MUST_CHECK;

/* Judges a received envelope and, when FRESH, advances the sequence and the time last heard. */
enum baton_link_verdict baton_link_accept(struct baton_link *link, const baton_envelope *envelope,
                                          int64_t now_ns);

enum baton_outbox_state baton_link_state(struct baton_link *link);
uint64_t baton_link_id(const struct baton_link *link);
uint64_t baton_link_peer_epoch(const struct baton_link *link);
int64_t baton_link_heard_ns(const struct baton_link *link); /* open time until something is heard */

/* As baton_outbox_silent_ns. */
int64_t baton_link_silent_ns(struct baton_link *link);

/* Messages sent that the peer has not acknowledged. */
uint64_t baton_link_n_unacked(struct baton_link *link);

/* Replaces the host "*" (or 0.0.0.0, [::]) of an announced url by the address its announcer was
 * seen at. INVALID for anything but tcp:// (or tls+tcp://) host:port. */
enum baton_err baton_link_resolve_url(const char *announced, const char *peer_host, char *url,
                                      size_t size, struct baton_why *why) BATON_MUST_CHECK;

#endif
