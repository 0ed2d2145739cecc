#include "common/wire/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/list.h"
#include "common/base/log.h"
#include "common/base/random.h"
#include "common/base/states.h"
#include "common/wire/member_hello.h"
#include "common/wire/transport/resolver.h"

enum peer_state { PAUSED, DIALLING, JOINING, JOINED };

/* One address of a gateway. */
struct peer {
    struct baton_node node;
    enum peer_state state;   /* set_state alone changes it */
    struct baton_link *link; /* NULL while PAUSED */
    int64_t due_ns;          /* PAUSED: dial; DIALLING, JOINING: give up; JOINED: beat */
    int64_t beaten_ns;       /* JOINED: its last beat */
    int64_t beat_ns;         /* the pause between beats that it asks for; 0: none */
    int64_t look_ns;         /* JOINED: when to see whether there is something to beat for */
    Baton__V1__Status said;  /* the last beat; a message of plain numbers, so a copy is whole */
    bool said_goodbye;
    int64_t judge_ns;      /* JOINED: not before then is its silence judged again */
    bool is_stopped;       /* it was silent when last judged, and is kept */
    unsigned hello_turn;   /* the member's when it was last greeted */
    unsigned n_unanswered; /* Hellos in a row that got no answer */
    char refusal[BATON_MAX_TEXT_BYTES + 1]; /* the last one logged; repetitions are for debug */
    char url[];
};

BATON_LIST(peer_list, struct peer, node)

struct baton_member {
    struct baton_member_options options;
    struct peer_list peers;
    struct baton_resolver *resolver;
    int64_t resolve_ns;  /* when to ask again */
    int64_t ticked_ns;   /* the last tick */
    int64_t due_ns;      /* when it wanted to be called next */
    int64_t awake_ns;    /* since when this process itself has not been stopped for long */
    unsigned hello_turn; /* how often the contents of Hello have changed */
    bool leaving;
    char leave_reason[BATON_MAX_TEXT_BYTES + 1];
};

/* ---- how often ---- */

/* As often as its options say, unless the gateway has so many workers that it asks for less. Then
 * its beat, which is answered, should come first. */
static int64_t pause_ns(const struct baton_member *member, const struct peer *peer)
{
    int64_t own_ns = member->options.beat_ns;
    return peer->beat_ns > own_ns ? peer->beat_ns + peer->beat_ns / 4 : own_ns;
}

/* The silence after which a gateway is lost, which beats as often as it asks its workers to. */
static int64_t dead_ns(const struct baton_member *member, const struct peer *peer)
{
    int64_t asked_ns = BATON_SILENT_BEATS * peer->beat_ns;
    return asked_ns > member->options.silence_ns ? asked_ns : member->options.silence_ns;
}

/* Long pauses are the gateway's: it beats in bunches (gateway/fleet/heartbeat.h), and the answers
 * come as one. The worker's own time runs on, should the gateway's beat be late. */
static void take_pause(struct baton_member *member, struct peer *peer, double beat_s,
                       int64_t now_ns)
{
    double max_s = baton_seconds(member->options.max_beat_ns);
    peer->beat_ns = (int64_t)((beat_s < max_s ? beat_s : max_s) * (double)BATON_SECOND);
    if (peer->beat_ns > member->options.beat_ns && now_ns - peer->beaten_ns > peer->beat_ns / 2)
        peer->due_ns = now_ns;
    if (peer->due_ns > now_ns + pause_ns(member, peer)) /* it was longer */
        peer->due_ns = now_ns + pause_ns(member, peer);
}

/* ---- states ---- */

/* The picture in the header, as a table: the next states of each state. */
static const unsigned edges[] = {[PAUSED] = 1u << DIALLING,
                                 [DIALLING] = 1u << JOINING | 1u << PAUSED,
                                 [JOINING] = 1u << JOINED | 1u << PAUSED,
                                 [JOINED] = 1u << PAUSED};
static const char *const names[] = {"paused", "dialling", "joining", "joined"};
static const struct baton_states states = {.object = "gateway", .names = names, .edges = edges};

static void set_state(struct peer *peer, enum peer_state state, int64_t due_ns)
{
    baton_log(BATON_LOG_DEBUG, "gateway_state", BATON_S("url", peer->url),
              BATON_S("from", names[peer->state]), BATON_S("to", names[state]));
    baton_states_check(&states, peer->state, state);
    peer->state = state;
    peer->due_ns = due_ns;
}

/* Ends the link in any state. The owner hears of the loss only when the gateway had joined: before
 * that it has no requests of it. */
static void pause_peer(struct baton_member *member, struct peer *peer, int64_t until_ns)
{
    struct baton_link *link = peer->link;
    uint64_t epoch = peer->state == JOINED ? baton_link_peer_epoch(link) : 0;
    peer->link = NULL;
    set_state(peer, PAUSED, until_ns);
    if (link)
        baton_link_close(link);
    if (epoch)
        member->options.lost(member->options.arg, epoch);
    baton_link_release(link);
}

/* Between half of it and one and a half: workers that lost one gateway at the same moment, or were
 * turned away together, do not come back together. */
static int64_t scattered(int64_t pause_ns)
{
    return pause_ns / 2 + (int64_t)(baton_random_id() % (uint64_t)(pause_ns + 1));
}

static void lose(struct baton_member *member, struct peer *peer, const char *reason, int64_t now_ns)
{
    baton_log(BATON_LOG_WARN, "gateway_lost", BATON_S("url", peer->url), BATON_S("reason", reason));
    pause_peer(member, peer, now_ns + scattered(member->options.beat_ns));
}

/* A gateway that gives no answer: it begins anew, or this worker is a stranger to it, which is not
 * told so. The pauses grow, and only the first line is for people: this may go on for long. */
static void give_up_hello(struct baton_member *member, struct peer *peer, const char *reason,
                          int64_t now_ns)
{
    const struct baton_member_options *options = &member->options;
    int64_t pause_ns = options->beat_ns;
    for (unsigned i = 0; i < peer->n_unanswered && pause_ns < options->retry_ns; i++)
        pause_ns *= 2;
    if (pause_ns > options->retry_ns)
        pause_ns = options->retry_ns;
    pause_ns = scattered(pause_ns);
    baton_log(peer->n_unanswered++ ? BATON_LOG_DEBUG : BATON_LOG_WARN, "gateway_unanswered",
              BATON_S("url", peer->url), BATON_S("reason", reason),
              BATON_F("retry_s", baton_seconds(pause_ns)));
    pause_peer(member, peer, now_ns + pause_ns);
}

static void dial(struct baton_member *member, struct peer *peer, int64_t now_ns)
{
    struct baton_link_options options = {
        .url = peer->url,
        .local_epoch = member->options.epoch,
        .wake = member->options.wake,
        .wake_arg = member->options.wake_arg,
    };
    struct baton_why why;
    if (baton_link_open(&options, &peer->link, &why)) {
        baton_log(BATON_LOG_ERROR, "gateway_undialled", BATON_S("url", peer->url),
                  BATON_S("reason", why.text));
        peer->due_ns = now_ns + member->options.retry_ns; /* it stays PAUSED */
    } else {
        /* NNG dials on, and the link's wake-up ends the wait. After a while a new link is dialled:
         * its packets do not wait for the pauses of TCP that a cut path has made long. */
        set_state(peer, DIALLING, now_ns + member->options.silence_ns);
    }
}

/* ---- messages to gateways ---- */

static enum baton_err send_hello(struct baton_member *member, struct peer *peer)
{
    peer->hello_turn = member->hello_turn;
    return baton_member_say_hello(&member->options, peer->link);
}

/* A beat that does not fit into a full queue is left out: the messages in the queue also show that
 * this worker lives. */
static void beat(struct baton_member *member, struct peer *peer, const Baton__V1__Status *status,
                 int64_t now_ns)
{
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    peer->said = *status;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_STATUS;
    envelope.status = &peer->said;
    enum baton_err err = baton_link_send(peer->link, &envelope, NULL, 0);
    if (err)
        baton_log(BATON_LOG_DEBUG, "beat_skipped", BATON_S("url", peer->url),
                  BATON_S("err", baton_err_name(err)));
    peer->beaten_ns = now_ns;
    peer->due_ns = now_ns + pause_ns(member, peer);
}

/* Whether the gateway must hear of it now: it takes work away for it, or gives it back. A worker
 * that leaves says Goodbye. */
static bool is_news(const Baton__V1__Status *status, const Baton__V1__Status *said)
{
    return (status->stalled_s > 0) != (said->stalled_s > 0) ||
           status->n_canary_failures != said->n_canary_failures;
}

/* Beats when it is time. In between, when pauses are long, it beats for news. */
static void beat_if_due(struct baton_member *member, struct peer *peer, int64_t now_ns)
{
    Baton__V1__Status status = BATON__V1__STATUS__INIT;
    if (now_ns < peer->due_ns && now_ns < peer->look_ns)
        return;
    peer->look_ns = now_ns + member->options.beat_ns;
    member->options.status(member->options.arg, &status);
    if (now_ns >= peer->due_ns || is_news(&status, &peer->said))
        beat(member, peer, &status, now_ns);
}

static void renew_hello(struct baton_member *member, struct peer *peer)
{
    if (peer->hello_turn != member->hello_turn && send_hello(member, peer))
        baton_log(BATON_LOG_WARN, "hello_not_renewed", BATON_S("url", peer->url));
}

static void say_goodbye(struct baton_member *member, struct peer *peer)
{
    Baton__V1__Goodbye goodbye = BATON__V1__GOODBYE__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    goodbye.reason = member->leave_reason;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_GOODBYE;
    envelope.goodbye = &goodbye;
    peer->said_goodbye = !baton_link_send(peer->link, &envelope, NULL, 0);
}

/* ---- the peers ---- */

static struct peer *find_url(struct baton_member *member, const char *url)
{
    struct peer *peer = peer_list_first(&member->peers);
    while (peer && strcmp(peer->url, url) != 0)
        peer = peer_list_next(&member->peers, peer);
    return peer;
}

static struct peer *find_link(struct baton_member *member, uint64_t link_id)
{
    struct peer *peer = peer_list_first(&member->peers);
    while (peer && (!peer->link || baton_link_id(peer->link) != link_id))
        peer = peer_list_next(&member->peers, peer);
    return peer;
}

static void add_peer(struct baton_member *member, const char *url, int64_t now_ns)
{
    size_t n = strlen(url) + 1;
    struct peer *peer = calloc(1, sizeof *peer + n);
    if (!peer)
        return; /* the next look-up tries again */
    memcpy(peer->url, url, n);
    peer->due_ns = now_ns;
    peer_list_push_back(&member->peers, peer);
    baton_log(BATON_LOG_INFO, "gateway_found", BATON_S("url", url));
}

static void remove_peer(struct baton_member *member, struct peer *peer)
{
    peer_list_remove(&member->peers, peer);
    if (peer->link)
        baton_link_close(peer->link);
    baton_link_release(peer->link);
    free(peer);
}

static bool is_listed(const struct baton_addresses *addresses, const char *url)
{
    for (size_t i = 0; i < addresses->n; i++)
        if (!strcmp(addresses->urls[i], url))
            return true;
    return false;
}

/* A joined gateway stays even when the look-up no longer lists it: its link shows that it lives. */
static void adopt(struct baton_member *member, const struct baton_addresses *addresses,
                  int64_t now_ns)
{
    for (size_t i = 0; i < addresses->n; i++)
        if (!find_url(member, addresses->urls[i]))
            add_peer(member, addresses->urls[i], now_ns);
    if (!addresses->complete)
        return;
    for (struct peer *peer = peer_list_first(&member->peers), *next; peer; peer = next) {
        next = peer_list_next(&member->peers, peer);
        if (peer->state != JOINED && !is_listed(addresses, peer->url))
            remove_peer(member, peer);
    }
}

/* Keeps the list of gateways fresh, also while all are joined: one that is added, or that comes
 * back with another address, shows only there. Returns when it wants to be called next. */
static int64_t resolve(struct baton_member *member, int64_t now_ns)
{
    struct baton_addresses addresses;
    if (baton_resolver_take(member->resolver, &addresses)) {
        adopt(member, &addresses, now_ns);
        baton_addresses_free(&addresses);
    }
    if (now_ns >= member->resolve_ns) {
        baton_resolver_ask(member->resolver);
        member->resolve_ns = now_ns + member->options.retry_ns;
    }
    return member->resolve_ns;
}

/* ---- ticks ---- */

static void tick_dialling(struct baton_member *member, struct peer *peer, int64_t now_ns)
{
    enum baton_outbox_state state = baton_link_state(peer->link);
    if (state == BATON_OUTBOX_DOWN)
        give_up_hello(member, peer, "it closed the connection before a hello was sent", now_ns);
    else if (state == BATON_OUTBOX_CONNECTING && now_ns >= peer->due_ns)
        pause_peer(member, peer, now_ns);
    else if (state == BATON_OUTBOX_UP && send_hello(member, peer))
        lose(member, peer, "hello could not be sent", now_ns);
    else if (state == BATON_OUTBOX_UP)
        set_state(peer, JOINING, now_ns + member->options.silence_ns);
}

static void tick_joining(struct baton_member *member, struct peer *peer, int64_t now_ns)
{
    if (baton_link_state(peer->link) == BATON_OUTBOX_DOWN)
        give_up_hello(
            member, peer,
            "it closed the connection instead of an answer to hello: is the cluster token "
            "the gateway's? is its wire version? its log tells",
            now_ns);
    else if (now_ns >= peer->due_ns)
        give_up_hello(member, peer, "no answer to hello", now_ns);
}

/* Since when the gateway has been silent while this process ran and could hear it. */
static int64_t silent_since(const struct baton_member *member, const struct peer *peer)
{
    int64_t heard_ns = baton_link_heard_ns(peer->link);
    return heard_ns > member->awake_ns ? heard_ns : member->awake_ns;
}

/* Whether a silent gateway is only stopped, or starved: its host's kernel still takes what this
 * worker sends. It will come back with all that it knows, so its requests are worth keeping. */
static bool is_only_stopped(const struct baton_member *member, struct peer *peer, int64_t silent_ns)
{
    return silent_ns <= member->options.pause_ns &&
           baton_link_silent_ns(peer->link) <= dead_ns(member, peer);
}

static void note_stopped(struct peer *peer, bool is_stopped)
{
    if (is_stopped != peer->is_stopped)
        baton_log(is_stopped ? BATON_LOG_WARN : BATON_LOG_INFO,
                  is_stopped ? "gateway_stopped" : "gateway_resumed", BATON_S("url", peer->url));
    peer->is_stopped = is_stopped;
}

/* Whether the gateway has been silent for too long. */
static bool is_silent(const struct baton_member *member, struct peer *peer, int64_t now_ns)
{
    int64_t silent_ns = now_ns - silent_since(member, peer);
    bool is_late = silent_ns > dead_ns(member, peer);
    if (is_late && now_ns < peer->judge_ns)
        return false;
    bool is_stopped = is_late && is_only_stopped(member, peer, silent_ns);
    peer->judge_ns = now_ns + member->options.beat_ns;
    note_stopped(peer, is_stopped);
    return is_late && !is_stopped;
}

static void tick_joined(struct baton_member *member, struct peer *peer, int64_t now_ns)
{
    if (baton_link_state(peer->link) == BATON_OUTBOX_DOWN) {
        lose(member, peer, "connection closed", now_ns);
        return;
    }
    if (is_silent(member, peer, now_ns)) {
        lose(member, peer, "silence", now_ns);
        return;
    }
    if (member->leaving && !peer->said_goodbye)
        say_goodbye(member, peer);
    /* While it leaves, the worker waits for the last ack. A beat would itself need another one. */
    if (!member->leaving || !baton_link_n_unacked(peer->link))
        beat_if_due(member, peer, now_ns);
    else if (now_ns >= peer->due_ns)
        peer->due_ns = now_ns + member->options.beat_ns;
}

static int64_t next_tick(const struct baton_member *member, const struct peer *peer)
{
    if (peer->state != JOINED)
        return peer->due_ns;
    int64_t silent_ns = silent_since(member, peer) + dead_ns(member, peer) + 1;
    if (peer->is_stopped && silent_ns < peer->judge_ns)
        silent_ns = peer->judge_ns;
    int64_t look_ns =
        !member->leaving && peer->look_ns < peer->due_ns ? peer->look_ns : peer->due_ns;
    return silent_ns < look_ns ? silent_ns : look_ns;
}

static void tick_peer(struct baton_member *member, struct peer *peer, int64_t now_ns)
{
    if (peer->state == PAUSED && now_ns >= peer->due_ns)
        dial(member, peer, now_ns);
    else if (peer->state == DIALLING)
        tick_dialling(member, peer, now_ns);
    else if (peer->state == JOINING)
        tick_joining(member, peer, now_ns);
    else if (peer->state == JOINED)
        tick_joined(member, peer, now_ns);
}

int64_t baton_member_tick(struct baton_member *member, int64_t now_ns)
{
    /* This process was stopped: messages of that time are still to be read, so silence counts
     * anew. */
    int64_t silence_ns = member->options.silence_ns;
    if (now_ns - member->ticked_ns > silence_ns / 2 && now_ns - member->due_ns > silence_ns / 4)
        member->awake_ns = now_ns;
    member->ticked_ns = now_ns;
    int64_t due_ns = member->leaving ? INT64_MAX : resolve(member, now_ns);
    for (struct peer *peer = peer_list_first(&member->peers), *next; peer; peer = next) {
        next = peer_list_next(&member->peers, peer);
        if (member->leaving && peer->state != JOINED) {
            remove_peer(member, peer);
            continue;
        }
        tick_peer(member, peer, now_ns);
        int64_t peer_due_ns = next_tick(member, peer);
        due_ns = peer_due_ns < due_ns ? peer_due_ns : due_ns;
    }
    member->due_ns = due_ns;
    return due_ns;
}

/* ---- messages from gateways ---- */

static void on_welcome(struct baton_member *member, struct peer *peer, const char *gateway_id,
                       int64_t now_ns)
{
    if (peer->state != JOINING) /* a second one, or one without hello */
        return;
    peer->refusal[0] = 0;
    peer->is_stopped = false;
    peer->n_unanswered = 0;
    set_state(peer, JOINED, now_ns);
    baton_log(BATON_LOG_INFO, "gateway_joined", BATON_S("url", peer->url),
              BATON_S("gateway", gateway_id),
              BATON_X("gateway_epoch", baton_link_peer_epoch(peer->link)));
    peer->beat_ns = 0;
    beat_if_due(member, peer, now_ns);
    renew_hello(member, peer); /* it may have changed since the Hello */
}

static void on_refused(struct baton_member *member, struct peer *peer,
                       const Baton__V1__Refused *refused, int64_t now_ns)
{
    const ProtobufCEnumValue *code = protobuf_c_enum_descriptor_get_value(
        &baton__v1__refused__code__descriptor, (int)refused->code);
    bool news = strcmp(peer->refusal, refused->reason) != 0;
    (void)snprintf(peer->refusal, sizeof peer->refusal, "%s", refused->reason);
    baton_log(news ? BATON_LOG_WARN : BATON_LOG_DEBUG, "gateway_refused", BATON_S("url", peer->url),
              BATON_S("code", code ? code->name : "?"), BATON_S("reason", refused->reason),
              BATON_F("retry_s", baton_seconds(member->options.retry_ns)));
    pause_peer(member, peer, now_ns + member->options.retry_ns);
}

static struct baton_link *on_fresh(struct baton_member *member, struct peer *peer,
                                   const baton_envelope *envelope, int64_t now_ns)
{
    switch ((int)envelope->body_case) {
    case BATON__V1__ENVELOPE__BODY_WELCOME:
        on_welcome(member, peer, envelope->welcome->gateway_id, now_ns);
        return NULL;
    case BATON__V1__ENVELOPE__BODY_REFUSED:
        on_refused(member, peer, envelope->refused, now_ns);
        return NULL;
    case BATON__V1__ENVELOPE__BODY_GOODBYE:
        baton_log(BATON_LOG_INFO, "gateway_leaving", BATON_S("url", peer->url),
                  BATON_S("reason", envelope->goodbye->reason));
        return NULL;
    case BATON__V1__ENVELOPE__BODY_STATUS:
        take_pause(member, peer, envelope->status->beat_s, now_ns);
        return NULL;
    case BATON__V1__ENVELOPE__BODY_HELLO: /* only workers say hello */
        return NULL;
    default:
        return peer->state == JOINED ? peer->link : NULL;
    }
}

struct baton_link *baton_member_receive(struct baton_member *member, struct baton_inbox *inbox,
                                        const struct baton_message *message, int64_t now_ns)
{
    struct peer *peer = find_link(member, message->envelope->link);
    if (!peer) {
        baton_inbox_reject_stranger(inbox, message);
        return NULL;
    }
    switch (baton_link_accept(peer->link, message->envelope, now_ns)) {
    case BATON_LINK_FRESH:
        baton_inbox_admit(inbox, message);
        return on_fresh(member, peer, message->envelope, now_ns);
    case BATON_LINK_GAP:
        baton_inbox_reject(inbox, message);
        lose(member, peer, "a message was lost", now_ns);
        return NULL;
    case BATON_LINK_STALE:
    default:
        return NULL;
    }
}

/* ---- the rest of the interface ---- */

enum baton_err baton_member_create(const struct baton_member_options *options,
                                   struct baton_member **member, struct baton_why *why)
{
    struct baton_member *created = calloc(1, sizeof *created);
    if (!created)
        return baton_fail(why, BATON_NO_MEMORY, "no memory to join a gateway");
    created->options = *options;
    created->options.gateways = NULL; /* not kept */
    peer_list_init(&created->peers);
    enum baton_err err = baton_resolver_create(options->gateways, options->wake, options->wake_arg,
                                               &created->resolver, why);
    if (err)
        free(created);
    else
        *member = created;
    return err;
}

void baton_member_destroy(struct baton_member *member)
{
    if (!member)
        return;
    baton_resolver_destroy(member->resolver);
    for (struct peer *peer; (peer = peer_list_first(&member->peers));)
        remove_peer(member, peer);
    free(member);
}

void baton_member_renew_hello(struct baton_member *member)
{
    member->hello_turn++;
    for (struct peer *peer = peer_list_first(&member->peers); peer;
         peer = peer_list_next(&member->peers, peer))
        if (peer->state == JOINED)
            renew_hello(member, peer);
}

enum baton_err baton_member_send(struct baton_member *member, uint64_t gateway_epoch,
                                 baton_envelope *envelope)
{
    for (struct peer *peer = peer_list_first(&member->peers); peer;
         peer = peer_list_next(&member->peers, peer))
        if (peer->state == JOINED && baton_link_peer_epoch(peer->link) == gateway_epoch)
            return baton_link_send(peer->link, envelope, NULL, 0);
    return BATON_NOT_FOUND;
}

size_t baton_member_n_joined(const struct baton_member *member)
{
    size_t n = 0;
    for (struct peer *peer = peer_list_first(&member->peers); peer;
         peer = peer_list_next(&member->peers, peer))
        n += peer->state == JOINED;
    return n;
}

void baton_member_leave(struct baton_member *member, const char *reason)
{
    (void)snprintf(member->leave_reason, sizeof member->leave_reason, "%s", reason);
    member->leaving = true;
    for (struct peer *peer = peer_list_first(&member->peers); peer;
         peer = peer_list_next(&member->peers, peer))
        if (peer->state == JOINED && !peer->said_goodbye)
            say_goodbye(member, peer);
}

bool baton_member_is_drained(const struct baton_member *member)
{
    for (struct peer *peer = peer_list_first(&member->peers); peer;
         peer = peer_list_next(&member->peers, peer))
        if (peer->state == JOINED && (!peer->said_goodbye || baton_link_n_unacked(peer->link)))
            return false;
    return member->leaving;
}
