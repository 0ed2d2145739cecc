#include "common/wire/link.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/wire/url.h"

enum { DEFAULT_QUEUED = 4096, DEFAULT_QUEUED_BYTES = 64 << 20 };

struct baton_link {
    uint64_t id, local_epoch;
    atomic_uint n_holders;
    /* The accepting thread writes these, senders read them. No other data is published through
     * them, so relaxed order is enough. */
    _Atomic uint64_t peer_epoch, n_received, n_acked;
    _Atomic int64_t heard_ns;

    /* Readers use the outbox; close, the one writer, takes it away. Many senders may be inside at
     * once: the outbox has locks of its own. */
    pthread_rwlock_t guard;
    struct baton_outbox *outbox;
};

#define LOAD(field)         atomic_load_explicit(&(field), memory_order_relaxed)
#define STORE(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)

static enum baton_err open_outbox(const struct baton_link_options *options,
                                  struct baton_outbox **outbox, struct baton_why *why)
{
    struct baton_outbox_options to_peer = {
        .url = options->url,
        .max_queued = options->max_queued ? options->max_queued : DEFAULT_QUEUED,
        .max_queued_bytes =
            options->max_queued_bytes ? options->max_queued_bytes : DEFAULT_QUEUED_BYTES,
        .connect_ns = options->connect_ns,
        .wake = options->wake,
        .wake_arg = options->wake_arg,
    };
    return baton_outbox_open(&to_peer, outbox, why);
}

enum baton_err baton_link_open(const struct baton_link_options *options, struct baton_link **link,
                               struct baton_why *why)
{
    struct baton_link *opened = calloc(1, sizeof *opened);
    if (!opened)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for a link to \"%s\"", options->url);
    opened->id = options->id ? options->id : baton_random_id();
    opened->local_epoch = options->local_epoch;
    atomic_init(&opened->n_holders, 1);
    STORE(opened->peer_epoch, options->peer_epoch);
    STORE(opened->heard_ns, baton_now_ns());
    pthread_rwlock_init(&opened->guard, NULL);
    enum baton_err err = open_outbox(options, &opened->outbox, why);
    if (err)
        baton_link_release(opened);
    else
        *link = opened;
    return err;
}

void baton_link_close(struct baton_link *link)
{
    pthread_rwlock_wrlock(&link->guard);
    struct baton_outbox *outbox = link->outbox;
    link->outbox = NULL;
    pthread_rwlock_unlock(&link->guard);
    /* Outside the lock: it may take a while, and senders must learn at once that it is closed. */
    baton_outbox_close(outbox);
}

struct baton_link *baton_link_hold(struct baton_link *link)
{
    /* Relaxed: the caller has a reference already, so the link cannot be freed meanwhile. */
    atomic_fetch_add_explicit(&link->n_holders, 1, memory_order_relaxed);
    return link;
}

void baton_link_release(struct baton_link *link)
{
    /* Acquire and release: the last holder must see what every other one did before letting go. */
    if (!link || atomic_fetch_sub_explicit(&link->n_holders, 1, memory_order_acq_rel) > 1)
        return;
    baton_link_close(link);
    pthread_rwlock_destroy(&link->guard);
    free(link);
}

enum baton_err baton_link_send(struct baton_link *link, baton_envelope *envelope,
                               const void *payload, size_t payload_bytes)
{
    envelope->src_epoch = link->local_epoch;
    envelope->dst_epoch = LOAD(link->peer_epoch);
    envelope->link = link->id;
    envelope->link_ack = LOAD(link->n_received); /* an older value is fine: acks are cumulative */
    pthread_rwlock_rdlock(&link->guard);
    enum baton_err err = link->outbox
                             ? baton_outbox_send(link->outbox, envelope, payload, payload_bytes)
                             : BATON_CLOSED;
    pthread_rwlock_unlock(&link->guard);
    return err;
}

static uint64_t n_sent(struct baton_link *link)
{
    pthread_rwlock_rdlock(&link->guard);
    uint64_t n = link->outbox ? baton_outbox_n_sent(link->outbox) : 0;
    pthread_rwlock_unlock(&link->guard);
    return n;
}

/* A peer that dials first does not know our epoch yet and says 0; until its first message is
 * accepted, we do not know its epoch either. */
static bool is_of_another_life(struct baton_link *link, const baton_envelope *envelope)
{
    uint64_t peer_epoch = LOAD(link->peer_epoch);
    return envelope->link != link->id ||
           (envelope->dst_epoch && envelope->dst_epoch != link->local_epoch) ||
           (peer_epoch && envelope->src_epoch != peer_epoch);
}

enum baton_link_verdict baton_link_accept(struct baton_link *link, const baton_envelope *envelope,
                                          int64_t now_ns)
{
    uint64_t n_received = LOAD(link->n_received), n_acked = LOAD(link->n_acked);
    if (is_of_another_life(link, envelope) || envelope->link_seq <= n_received)
        return BATON_LINK_STALE;
    /* An ack of a message that was never sent is as wrong as a hole: the peer counts another
     * link. */
    if (envelope->link_seq != n_received + 1 || envelope->link_ack > n_sent(link))
        return BATON_LINK_GAP;
    STORE(link->peer_epoch, envelope->src_epoch);
    STORE(link->n_received, envelope->link_seq);
    if (envelope->link_ack > n_acked) /* two senders may stamp an older ack into a later message */
        STORE(link->n_acked, envelope->link_ack);
    STORE(link->heard_ns, now_ns);
    return BATON_LINK_FRESH;
}

enum baton_outbox_state baton_link_state(struct baton_link *link)
{
    pthread_rwlock_rdlock(&link->guard);
    enum baton_outbox_state state =
        link->outbox ? baton_outbox_state(link->outbox) : BATON_OUTBOX_DOWN;
    pthread_rwlock_unlock(&link->guard);
    return state;
}

uint64_t baton_link_id(const struct baton_link *link)
{
    return link->id;
}

uint64_t baton_link_peer_epoch(const struct baton_link *link)
{
    return LOAD(link->peer_epoch);
}

int64_t baton_link_heard_ns(const struct baton_link *link)
{
    return LOAD(link->heard_ns);
}

int64_t baton_link_silent_ns(struct baton_link *link)
{
    return baton_outbox_silent_ns(link->outbox);
}

uint64_t baton_link_n_unacked(struct baton_link *link)
{
    uint64_t sent = n_sent(link), acked = LOAD(link->n_acked);
    /* A closed link counts as having sent nothing, while its acks stay. */
    return sent > acked ? sent - acked : 0;
}

enum baton_err baton_link_resolve_url(const char *announced, const char *peer_host, char *url,
                                      size_t size, struct baton_why *why)
{
    struct baton_url parsed;
    enum baton_err err = baton_url_parse(announced, &parsed, why);
    if (err)
        return err;
    /* A process that listens on every interface cannot know by which of its addresses the peer
     * reaches it; the peer does. */
    bool any = baton_url_is_any_host(&parsed);
    if (any && !*peer_host)
        return baton_fail(why, BATON_INVALID, "\"%.200s\": the sender's address is not known",
                          announced);
    return baton_url_format(&parsed, any ? peer_host : parsed.host, parsed.port, url, size, why);
}
