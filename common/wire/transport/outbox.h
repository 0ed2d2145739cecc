/* An outbox: one PUSH socket dialled to one peer's inbox, with a bounded queue of its own.
 *
 *     CONNECTING --pipe added--> UP --pipe removed--> DOWN (for good: open another)
 *          \---- not UP within connect_ns -------------^
 *
 * NNG keeps no send buffer here, so what waits is ours to count and to drop. A message handed to
 * NNG is not delivered until the peer says so (common/wire/link.h).
 *
 * Ownership: send copies; the caller keeps envelope and payload.
 * Threading: send and state from any thread; open and close from one. wake as in inbox.h, called
 *            when the state changes and when a full queue has drained.
 * Errors:    send: AGAIN (queue full), CLOSED (DOWN or closing), NO_MEMORY; INVALID (a field) and
 *            LIMIT (too big) for what the peer would refuse, which is logged with its reason and
 *            leaves the link as it was. Nothing blocks.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_OUTBOX_H
#define BATON_COMMON_WIRE_TRANSPORT_OUTBOX_H

#include <stdbool.h>

#include "common/wire/envelope/envelope.h"

struct baton_outbox;

enum baton_outbox_state { BATON_OUTBOX_CONNECTING, BATON_OUTBOX_UP, BATON_OUTBOX_DOWN };

struct baton_outbox_options {
    const char *url;         /* numeric host: "tcp://10.0.0.7:7101" */
    size_t max_queued;       /* messages */
    size_t max_queued_bytes; /* at least one message is always admitted */
    int64_t connect_ns;      /* the peer must be reached within it; 0: it may take for ever */
    void (*wake)(void *arg);
    void *wake_arg;
};

/* Dials in the background: the outbox is CONNECTING on return. It dials again until it is UP or
 * closed, so an owner without patience (connect_ns) asks for its state now and then. */
enum baton_err baton_outbox_open(const struct baton_outbox_options *options,
                                 struct baton_outbox **outbox,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Drops the queue; gives a message already on its way up to 50 ms to leave. Not from a
 * callback. */
void baton_outbox_close(struct baton_outbox *outbox);

/* Queues one frame. *link_seq of the envelope is set under the queue's lock to 1, 2, 3, ... in the
 * order of sending, counting only messages that were queued. */
enum baton_err baton_outbox_send(struct baton_outbox *outbox, baton_envelope *envelope,
                                 const void *payload, size_t payload_bytes) BATON_MUST_CHECK;

/* DOWN also when the time to connect is over. */
enum baton_outbox_state baton_outbox_state(struct baton_outbox *outbox);

/* For how long the peer's kernel has acknowledged nothing of what was sent; INT64_MAX when the
 * outbox is not UP. A stopped peer's kernel goes on to acknowledge. Expensive: see tcp_path.h. */
int64_t baton_outbox_silent_ns(struct baton_outbox *outbox);

/* Messages queued so far (the last link_seq given out). */
uint64_t baton_outbox_n_sent(struct baton_outbox *outbox);

#endif
