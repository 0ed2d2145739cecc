#include "gateway/fleet/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/fleet/fleets.h"

/* HEARD_BEATS: a worker that misses more beats than this may not be computing. It is fewer than
 * make it suspect. SLOTS_PER_BEAT: a check is late by at most this part of a beat. */
enum { HEARD_BEATS = 2, SLOTS_PER_BEAT = 16 };

/* How long a link stays open after Refused was sent on it, so that the message can leave. */
#define REFUSED_LINGERS_NS BATON_SECOND

void gw_fleet_init(struct gw_fleet *fleet, const struct gw_fleet_options *options)
{
    int64_t now_ns = baton_now_ns();
    *fleet = (struct gw_fleet){.options = *options, .awake_ns = now_ns};
    fleet->options.identity.connect_ns =
        gw_heartbeat_dead_ns(&options->heartbeat, options->heartbeat.beat_ns);
    gw_timing_wheel_init(&fleet->due, options->heartbeat.beat_ns / SLOTS_PER_BEAT + 1, now_ns);
    gw_numeric_classes_init(&fleet->classes);
    gw_worker_list_init(&fleet->workers);
    gw_worker_list_init(&fleet->refused);
    gw_worker_list_init(&fleet->leaving);
}

static void add(struct gw_fleet *fleet, struct gw_worker *worker)
{
    worker->tag = ++fleet->last_tag;
    worker->census = &fleet->census;
    fleet->census.n[worker->role][worker->state]++;
    gw_worker_list_push_back(&fleet->workers, worker);
    gw_worker_table_put(&fleet->by_link, worker, baton_link_id(worker->link));
    worker->beat_ns = fleet->options.heartbeat.beat_ns;
    gw_timing_wheel_put(&fleet->due, worker, 0);
}

/* ---- leaving ---- */

static bool is_serving(const struct gw_worker *worker)
{
    return worker->state == GW_WORKER_READY || worker->state == GW_WORKER_SUSPECT;
}

/* Records when the worker's role was last served; call before the worker leaves it. */
static void note_served(struct gw_fleet *fleet, const struct gw_worker *worker)
{
    if (is_serving(worker))
        fleet->served_ns[worker->role] = worker->numeric_class->served_ns[worker->role] =
            baton_now_ns();
}

/* Removes a worker that is gone. Also ends its pipe, if that is still open: a message that it began
 * there and never completed would hold memory for as long as the connection lives. */
static void lose(struct gw_fleet *fleet, struct gw_worker *worker, const char *reason)
{
    baton_inbox_end_pipe(fleet->options.inbox, worker->pipe);
    baton_log(BATON_LOG_WARN, "worker_lost", BATON_S("worker", worker->id),
              BATON_S("reason", reason), BATON_I("active", worker->n_active));
    note_served(fleet, worker);
    fleet->census.n[worker->role][worker->state]--;
    gw_worker_list_remove(&fleet->workers, worker);
    gw_timing_wheel_remove(&fleet->due, worker);
    gw_worker_table_remove(&fleet->by_link, worker);
    /* After the worker has left the lists, so that nothing that on_lost calls can choose it. */
    fleet->options.on_lost(fleet->options.arg, worker, reason);
    gw_worker_list_push_back(&fleet->leaving, worker);
    gw_numeric_classes_leave(worker->numeric_class);
    if (!fleet->workers.n) /* an empty fleet may change its terms: its next worker settles them */
        memset(&fleet->terms, 0, sizeof fleet->terms);
}

void gw_fleet_fini(struct gw_fleet *fleet)
{
    for (struct gw_worker *worker; (worker = gw_worker_list_pop_front(&fleet->workers));) {
        gw_worker_table_remove(&fleet->by_link, worker);
        gw_worker_destroy(worker);
    }
    for (struct gw_worker *worker; (worker = gw_worker_list_pop_front(&fleet->refused));)
        gw_worker_destroy(worker);
    for (struct gw_worker *worker; (worker = gw_worker_list_pop_front(&fleet->leaving));)
        gw_worker_destroy(worker);
}

/* ---- joining ---- */

/* Ids are unique among all workers of the gateway. */
static struct gw_worker *find_id(struct gw_fleet *fleet, const char *id, struct gw_fleet **of)
{
    const struct gw_fleets alone = {.list = {fleet}, .n = 1};
    return gw_fleets_find(fleet->options.fleets ? fleet->options.fleets : &alone, id, of);
}

/* An id is in use while its worker answers. A silent or disconnected worker loses its id to the new
 * one, and so does the old link of the same process. */
static bool id_is_free(struct gw_fleet *fleet, const baton_envelope *envelope,
                       struct gw_refusal *refusal)
{
    struct gw_fleet *of = fleet;
    struct gw_worker *other = find_id(fleet, envelope->hello->worker_id, &of);
    if (!other)
        return true;
    if (other->epoch != envelope->src_epoch && other->state != GW_WORKER_SUSPECT &&
        baton_link_state(other->link) != BATON_OUTBOX_DOWN)
        return gw_handshake_refuse(refusal, BATON__V1__REFUSED__CODE__DUPLICATE_ID,
                                   "the id \"%s\" is in use by another worker (pid %u at %s)",
                                   other->id, other->pid, other->address);
    lose(of, other, "it has joined again");
    return true;
}

static bool may_join(struct gw_fleet *fleet, const baton_envelope *envelope,
                     struct gw_refusal *refusal)
{
    /* Leaving workers count too, because their links still hold open files and memory. */
    if (fleet->workers.n + fleet->leaving.n >= GW_MAX_WORKERS)
        return gw_handshake_refuse(refusal, BATON__V1__REFUSED__CODE__FULL,
                                   "the fleet has its most workers, %d", GW_MAX_WORKERS);
    if (!gw_numeric_classes_may_join(&fleet->classes, envelope->hello->numeric_class))
        return gw_handshake_refuse(refusal, BATON__V1__REFUSED__CODE__FULL,
                                   "the worker's numeric class is new, and the fleet has its most "
                                   "classes, %d",
                                   GW_MAX_CLASSES);
    if (!gw_handshake_judge(&fleet->options.identity, &fleet->terms, envelope->hello, refusal)) {
        if (fleet->options.fleets && fleet->options.fleets->n > 1)
            gw_fleets_explain(fleet->options.fleets, envelope->hello, refusal);
        return false;
    }
    if (fleet->options.fleets &&
        !gw_fleets_are_clear(fleet->options.fleets, fleet, envelope->hello, refusal))
        return false;
    /* The id comes last: a Hello that is refused for another reason must not end an old worker. */
    return id_is_free(fleet, envelope, refusal);
}

static void log_joined(const struct gw_worker *worker)
{
    baton_log(BATON_LOG_INFO, "worker_joined", BATON_S("worker", worker->id),
              BATON_S("role", gw_worker_role_name(worker->role)), BATON_I("peer_pid", worker->pid),
              BATON_S("address", worker->address), BATON_I("cores", worker->n_cores),
              BATON_I("kv_blocks", worker->status.kv_blocks_total),
              BATON_S("numeric_class", worker->numeric_class->name.hex),
              BATON_F("start_to_ready_s", worker->start_to_ready_s),
              BATON_F("model_load_s", worker->model_load_s));
}

static void welcome(struct gw_fleet *fleet, struct gw_worker *worker, const Baton__V1__Hello *hello)
{
    if (!fleet->workers.n)
        gw_handshake_settle(&fleet->terms, hello);
    worker->numeric_class = gw_numeric_classes_join(&fleet->classes, hello);
    add(fleet, worker);
    gw_handshake_send_welcome(&fleet->options.identity, worker);
    log_joined(worker);
}

static void turn_away(struct gw_fleet *fleet, struct gw_worker *worker, struct gw_refusal *refusal,
                      int64_t now_ns)
{
    static struct baton_log_limit limit;
    /* A refused worker gets no beats, so beat_due_ns holds the time at which its link closes. */
    baton_log_limited(&limit, BATON_LOG_WARN, "worker_refused", BATON_S("worker", worker->id),
                      BATON_S("address", worker->address), BATON_S("reason", refusal->reason));
    fleet->hellos.n_refused++;
    gw_handshake_send_refused(worker, refusal);
    worker->beat_due_ns = now_ns + REFUSED_LINGERS_NS;
    gw_worker_list_push_back(&fleet->refused, worker);
}

static void drop_hello(struct gw_fleet *fleet, const struct baton_message *message,
                       const char *reason)
{
    static struct baton_log_limit limit;
    baton_log_limited(&limit, BATON_LOG_WARN, "hello_dropped", BATON_S("peer", message->peer_host),
                      BATON_S("reason", reason));
    fleet->hellos.n_dropped++;
    baton_inbox_reject(fleet->options.inbox, message);
}

/* Runs on NNG's threads, and so only sets a flag: the next tick checks all links. */
static void on_link_changed(void *arg)
{
    struct gw_fleet *fleet = arg;
    atomic_store(&fleet->links_changed, true);
    fleet->options.wake(fleet->options.wake_arg);
}

/* Answers the Hello of a worker that has the token with Welcome or Refused. */
static void answer(struct gw_fleet *fleet, const struct baton_message *message, int64_t now_ns)
{
    const struct gw_fleet_options *options = &fleet->options;
    const baton_envelope *envelope = message->envelope;
    struct gw_refusal refusal = {0};
    struct baton_why why = {""};
    /* A refused worker needs a link too, on which Refused is sent. */
    bool is_welcome = may_join(fleet, envelope, &refusal);
    if (!is_welcome && fleet->refused.n >= GW_MAX_REFUSED) {
        drop_hello(fleet, message, "too many workers are being refused");
        return;
    }
    struct gw_worker *worker =
        gw_handshake_worker(&options->identity, message, on_link_changed, fleet, &why);
    if (!worker || baton_link_accept(worker->link, envelope, now_ns) != BATON_LINK_FRESH) {
        drop_hello(fleet, message, worker ? "not the first message of its link" : why.text);
        if (worker)
            gw_worker_destroy(worker);
    } else if (is_welcome) {
        baton_inbox_admit(options->inbox, message);
        welcome(fleet, worker, envelope->hello);
    } else {
        turn_away(fleet, worker, &refusal, now_ns);
    }
}

/* A Hello without the token only closes its pipe, without an answer: anybody who reaches the port
 * can send one, so nothing may be opened, dialled or revealed for it. */
static void greet(struct gw_fleet *fleet, const struct baton_message *message, int64_t now_ns)
{
    static struct baton_log_limit limit;
    if (gw_handshake_has_token(&fleet->options.identity, message->envelope->hello)) {
        answer(fleet, message, now_ns);
        return;
    }
    baton_log_limited(&limit, BATON_LOG_WARN, "stranger_refused",
                      BATON_S("peer", message->peer_host),
                      BATON_S("reason", "wrong cluster token"));
    fleet->hellos.n_strangers++;
    baton_inbox_reject(fleet->options.inbox, message);
}

/* ---- messages ---- */

/* Sends a heartbeat: this gateway is alive, and when the next beat follows. */
static void beat(const struct gw_fleet *fleet, struct gw_worker *worker, int64_t now_ns)
{
    Baton__V1__Status status = BATON__V1__STATUS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    worker->beat_ns =
        gw_heartbeat_worker_pause_ns(&fleet->options.heartbeat, fleet->workers.n, worker);
    worker->beat_due_ns = gw_heartbeat_due_ns(&fleet->options.heartbeat, worker->beat_ns, now_ns);
    status.beat_s = baton_seconds(worker->beat_ns);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_STATUS;
    envelope.status = &status;
    (void)gw_worker_send(worker, &envelope);
}

static void drain(struct gw_fleet *fleet, struct gw_worker *worker, const char *reason)
{
    note_served(fleet, worker);
    if (worker->state != GW_WORKER_DRAINING) /* every Status of a draining worker repeats it */
        gw_worker_set_state(worker, GW_WORKER_DRAINING, reason);
}

/* Acts only once, because every Status of a stalled worker repeats the report. */
static void stall(struct gw_fleet *fleet, struct gw_worker *worker)
{
    char reason[80];
    if (worker->state == GW_WORKER_STALLED)
        return;
    (void)snprintf(reason, sizeof reason, "its engine has computed nothing for %.1f s",
                   worker->status.stalled_s);
    note_served(fleet, worker);
    gw_worker_set_state(worker, GW_WORKER_STALLED, reason);
    worker->n_stalls++;
    fleet->options.on_unfit(fleet->options.arg, worker);
}

/* Acts once and for the rest of the worker's life: a process that computed wrongly may do so again,
 * even if its next canary succeeds. */
static void distrust(struct gw_fleet *fleet, struct gw_worker *worker)
{
    if (worker->state == GW_WORKER_UNHEALTHY)
        return;
    note_served(fleet, worker);
    gw_worker_set_state(worker, GW_WORKER_UNHEALTHY,
                        "its canary failed: it computes other results than at its start");
    fleet->options.on_unfit(fleet->options.arg, worker);
}

/* Derives the state of a worker that does not drain from its last Status. */
static void judge(struct gw_fleet *fleet, struct gw_worker *worker)
{
    if (worker->status.n_canary_failures)
        distrust(fleet, worker);
    else if (worker->status.stalled_s > 0)
        stall(fleet, worker);
    else if (worker->state != GW_WORKER_READY)
        gw_worker_set_state(worker, GW_WORKER_READY, "it sent a Status");
}

static void handle_status(struct gw_fleet *fleet, struct gw_worker *worker,
                          const Baton__V1__Status *status)
{
    gw_worker_set_status(worker, status);
    if (status->draining)
        drain(fleet, worker, "it drains");
    else if (worker->state != GW_WORKER_DRAINING)
        judge(fleet, worker);
    if (worker->state == GW_WORKER_DRAINING)
        beat(fleet, worker, baton_now_ns()); /* the worker waits for this answer before it leaves */
    fleet->options.on_capacity(fleet->options.arg);
}

/* A worker whose token changes sends a Hello with the new one before the old one is withdrawn, so
 * that its link survives the rotation. One whose adapters change sends a Hello as well. */
static void handle_hello(struct gw_fleet *fleet, struct gw_worker *worker,
                         const Baton__V1__Hello *hello)
{
    if (!gw_handshake_has_token(&fleet->options.identity, hello)) {
        lose(fleet, worker, "the cluster token that it shows is not this fleet's");
        return;
    }
    gw_adapters_set(&worker->adapters, hello->adapters, hello->n_adapters);
    if (strcmp(worker->token, hello->cluster_token) != 0)
        baton_log(BATON_LOG_INFO, "token_shown", BATON_S("worker", worker->id));
    (void)snprintf(worker->token, sizeof worker->token, "%s", hello->cluster_token);
    fleet->options.on_capacity(fleet->options.arg);
}

void gw_fleet_token_changed(struct gw_fleet *fleet)
{
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers), *next; worker;
         worker = next) {
        next = gw_worker_list_next(&fleet->workers, worker);
        if (!baton_cluster_token_accepts(fleet->options.identity.token, worker->token))
            lose(fleet, worker, "its cluster token was withdrawn");
    }
}

static void dispatch(struct gw_fleet *fleet, struct gw_worker *worker,
                     const baton_envelope *envelope)
{
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_STATUS) {
        handle_status(fleet, worker, envelope->status);
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_HELLO) {
        handle_hello(fleet, worker, envelope->hello);
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_GOODBYE) {
        drain(fleet, worker, envelope->goodbye->reason);
        beat(fleet, worker, baton_now_ns()); /* the worker waits for this answer before it leaves */
    } else {
        fleet->options.on_message(fleet->options.arg, worker, envelope);
    }
}

void gw_fleet_receive(struct gw_fleet *fleet, const struct baton_message *message, int64_t now_ns)
{
    const baton_envelope *envelope = message->envelope;
    struct gw_worker *worker = gw_worker_table_first(&fleet->by_link, envelope->link);
    if (!worker && envelope->body_case == BATON__V1__ENVELOPE__BODY_HELLO) {
        greet(fleet, message, now_ns);
        return;
    }
    if (!worker) { /* the link has ended: closing its pipe makes the sender open a new one */
        baton_inbox_reject(fleet->options.inbox, message);
        return;
    }
    switch (baton_link_accept(worker->link, envelope, now_ns)) {
    case BATON_LINK_FRESH:
        dispatch(fleet, worker, envelope);
        break;
    case BATON_LINK_STALE:
        break;
    case BATON_LINK_GAP: /* a link never recovers: closing the pipe tells the peer */
        baton_inbox_reject(fleet->options.inbox, message);
        lose(fleet, worker, "a message was lost");
        break;
    }
}

/* ---- heartbeats ---- */

/* Silence counts only while this process ran: while it was stopped or starved, it could hear
 * nobody, and would declare the whole fleet dead afterwards. */
static int64_t last_heard_ns(const struct gw_fleet *fleet, const struct gw_worker *worker)
{
    int64_t heard_ns = baton_link_heard_ns(worker->link);
    return heard_ns > fleet->awake_ns ? heard_ns : fleet->awake_ns;
}

bool gw_fleet_hears(const struct gw_fleet *fleet, const struct gw_worker *worker, int64_t now_ns)
{
    return (worker->state == GW_WORKER_READY || worker->state == GW_WORKER_DRAINING) &&
           now_ns - last_heard_ns(fleet, worker) <= HEARD_BEATS * worker->beat_ns;
}

static int64_t dead_after_ns(const struct gw_fleet *fleet, const struct gw_worker *worker)
{
    return gw_heartbeat_dead_ns(&fleet->options.heartbeat, worker->beat_ns);
}

/* When to check the worker next, if it stays silent until then. */
static int64_t next_check_ns(const struct gw_fleet *fleet, const struct gw_worker *worker)
{
    bool may_be_suspect = worker->state == GW_WORKER_READY;
    int64_t patience_ns = dead_after_ns(fleet, worker) / (may_be_suspect ? 2 : 1);
    int64_t silent_ns = last_heard_ns(fleet, worker) + patience_ns + 1; /* check_worker tests > */
    return silent_ns < worker->beat_due_ns ? silent_ns : worker->beat_due_ns;
}

static void check_worker(struct gw_fleet *fleet, struct gw_worker *worker, int64_t now_ns,
                         bool heard_all)
{
    /* While messages wait in the inbox, a worker may only seem silent. */
    int64_t silent_ns = heard_all ? now_ns - last_heard_ns(fleet, worker) : 0;
    int64_t dead_ns = dead_after_ns(fleet, worker);
    if (silent_ns > dead_ns) {
        lose(fleet, worker, "it does not answer");
        return;
    }
    if (silent_ns > dead_ns / 2 && worker->state == GW_WORKER_READY) {
        gw_worker_set_state(worker, GW_WORKER_SUSPECT, "it is silent");
        fleet->n_suspected[worker->role]++;
    }
    if (now_ns >= worker->beat_due_ns)
        beat(fleet, worker, now_ns);
    gw_timing_wheel_put(&fleet->due, worker, next_check_ns(fleet, worker));
}

static bool lose_if_down(struct gw_fleet *fleet, struct gw_worker *worker)
{
    bool is_down = baton_link_state(worker->link) == BATON_OUTBOX_DOWN;
    if (is_down)
        lose(fleet, worker,
             worker->state == GW_WORKER_DRAINING ? "left"
                                                 : "its process is gone, or cannot be reached");
    return is_down;
}

static void lose_all_down(struct gw_fleet *fleet)
{
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers), *next; worker;
         worker = next) {
        next = gw_worker_list_next(&fleet->workers, worker);
        (void)lose_if_down(fleet, worker);
    }
}

/* Closes one link. Links of lost workers come first, because they hold more memory. */
static void close_one(struct gw_fleet *fleet, int64_t now_ns)
{
    struct gw_worker *worker = gw_worker_list_pop_front(&fleet->leaving);
    struct gw_worker *refused = gw_worker_list_first(&fleet->refused);
    if (!worker && refused && now_ns >= refused->beat_due_ns)
        worker = gw_worker_list_pop_front(&fleet->refused);
    if (worker)
        gw_worker_destroy(worker);
}

/* Ticks come every beat_ns / 4: after a longer pause this process was stopped or starved. */
bool gw_fleet_slept(const struct gw_fleet *fleet, int64_t now_ns)
{
    return now_ns - fleet->ticked_ns > fleet->options.heartbeat.beat_ns;
}

void gw_fleet_tick(struct gw_fleet *fleet, int64_t now_ns, bool heard_all)
{
    if (gw_fleet_slept(fleet, now_ns))
        fleet->awake_ns = now_ns;
    fleet->ticked_ns = now_ns;
    if (atomic_exchange(&fleet->links_changed, false))
        lose_all_down(fleet);
    /* A link that fails to come up in time sets no flag, so each worker is also checked when
     * due. */
    for (struct gw_worker *worker; (worker = gw_timing_wheel_take(&fleet->due, now_ns));)
        if (!lose_if_down(fleet, worker))
            check_worker(fleet, worker, now_ns, heard_all);
    close_one(fleet, now_ns);
}

void gw_fleet_drain(struct gw_fleet *fleet, struct gw_worker *worker, const char *reason)
{
    Baton__V1__Drain order = BATON__V1__DRAIN__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    order.reason = baton_envelope_text(reason);
    envelope.body_case = BATON__V1__ENVELOPE__BODY_DRAIN;
    envelope.drain = &order;
    (void)gw_worker_send(worker, &envelope);
    drain(fleet, worker, reason);
}

void gw_fleet_goodbye(struct gw_fleet *fleet)
{
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        Baton__V1__Goodbye goodbye = BATON__V1__GOODBYE__INIT;
        baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
        goodbye.reason = baton_envelope_text("the gateway stops");
        envelope.body_case = BATON__V1__ENVELOPE__BODY_GOODBYE;
        envelope.goodbye = &goodbye;
        (void)gw_worker_send(worker, &envelope);
    }
}
