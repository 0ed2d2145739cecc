/* A worker's membership: it joins every gateway it was told of, beats, notices silence, rejoins.
 *
 *     PAUSED --due--> DIALLING --pipe up, Hello sent--> JOINING --Welcome--> JOINED
 *      ^ ^ ^             | not reached                     | Refused,          | down, gap, silence
 *      | | +-------------+                                 | no answer         | (lost() is called)
 *      | +-------------------------------------------------+                   |
 *      +-----------------------------------------------------------------------+
 *
 * A gateway's name may resolve to several addresses: each is one gateway. Names are resolved again
 * while a gateway is not joined, on a thread of the member's own, so that nothing here blocks.
 *
 * Ownership: the member owns its links; receive lends one (hold it to keep it).
 * Threading: every call from the worker's main thread. status and lost are called from inside tick
 *            and receive.
 * Errors:    create: INVALID (a gateway url), NO_MEMORY. Later failures are logged and retried.
 */
#ifndef BATON_COMMON_WIRE_MEMBER_H
#define BATON_COMMON_WIRE_MEMBER_H

#include "common/base/fingerprint.h"
#include "common/wire/link.h"

struct baton_member;

/* A silence of so many beats is a loss. */
enum { BATON_SILENT_BEATS = 6 };

struct baton_member_options {
    const char *gateways; /* "tcp://gateway:7100[,tcp://...]" */
    uint64_t epoch;
    int64_t beat_ns;     /* between heartbeats: 250 ms */
    int64_t max_beat_ns; /* the longest pause that a gateway of many workers may ask for; 0: none */
    int64_t silence_ns;  /* without a word from a gateway for so long, or for six of the pauses that
                          * it asked for, the link is lost: 6 beats */
    int64_t pause_ns; /* so long a silent gateway is kept whose host acknowledges: it is stopped */
    int64_t retry_ns; /* pause after Refused: 2 s */
    /* The contents of Hello; texts are borrowed for the member's life. */
    Baton__V1__Role role;
    const char *worker_id, *inbox_url, *bulk_url, *parts_url;
    const struct baton_fingerprint *fingerprint;
    const char *model, *dtype, *kv_dtype, *kv_layout, *numeric_class, *kernels, *cluster_token;
    const char *draft_model; /* NULL or "": none */
    const char *numa;        /* "node:0"; NULL or "": bound to no node */
    uint32_t kv_block_tokens, n_context_tokens, n_cores;
    double start_to_ready_s, model_load_s;
    /* Fills in the true state, for a heartbeat. */
    void (*status)(void *arg, Baton__V1__Status *status);
    /* The adapters as of now: [*n], borrowed until the call of Hello ends. NULL: none. */
    Baton__V1__Adapter **(*adapters)(void *arg, size_t *n);
    bool adapts;             /* more of them may be loaded */
    uint32_t state_interval; /* Hello's */
    /* A joined gateway is gone: everything it asked for is void. */
    void (*lost)(void *arg, uint64_t gateway_epoch);
    void *arg;
    void (*wake)(void *arg); /* for the links' state changes */
    void *wake_arg;
};

enum baton_err baton_member_create(const struct baton_member_options *options,
                                   struct baton_member **member,
                                   struct baton_why *why) BATON_MUST_CHECK;
void baton_member_destroy(struct baton_member *member);

/* Does what is due (dial, Hello, beat, detect loss); returns when it wants to be called next. Call
 * it also after every wake, and after the inbox was taken empty. A process that was itself stopped
 * for a while (no tick for half of silence_ns) begins to count the silence anew: the gateways'
 * messages of that time may still be on their way. */
int64_t baton_member_tick(struct baton_member *member, int64_t now_ns);

/* Handles membership messages. For any other FRESH message of a joined gateway returns that
 * gateway's link (borrowed); NULL means the message is done with (stale, or membership). */
struct baton_link *baton_member_receive(struct baton_member *member, struct baton_inbox *inbox,
                                        const struct baton_message *message, int64_t now_ns);

/* Says Hello again to the gateways that it has joined, now or later: the adapters have changed, or
 * the cluster token, and gateways end links of those who have shown no other when the old one is
 * withdrawn. */
void baton_member_renew_hello(struct baton_member *member);

/* Sends a message to the joined gateway of this epoch. NOT_FOUND; the errors of baton_link_send. */
enum baton_err baton_member_send(struct baton_member *member, uint64_t gateway_epoch,
                                 baton_envelope *envelope) BATON_MUST_CHECK;

size_t baton_member_n_joined(const struct baton_member *member);

/* Says Goodbye everywhere and stops rejoining; is_drained once every joined gateway acknowledged
 * everything sent (or went away). Keep ticking and receiving in between. */
void baton_member_leave(struct baton_member *member, const char *reason);
bool baton_member_is_drained(const struct baton_member *member);

#endif
