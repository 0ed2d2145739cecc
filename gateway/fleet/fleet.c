#include "gateway/fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/fleet/handshake.h"

enum { DEAD_BEATS = 6 };

const char *gw_worker_state_name(enum gw_worker_state state)
{
    static const char *const names[] = {"joining", "ready", "suspect", "draining"};
    return names[state];
}

const char *gw_worker_role_name(Baton__V1__Role role)
{
    return role == BATON__V1__ROLE__ROLE_PREFILL ? "prefill" : "decode";
}

void gw_fleet_init(struct gw_fleet *fleet, const struct gw_fleet_options *options)
{
    *fleet = (struct gw_fleet){.options = *options};
    gw_worker_list_init(&fleet->workers);
    gw_worker_list_init(&fleet->refused);
}

void gw_worker_free(struct gw_worker *worker)
{
    baton_link_close(worker->link);
    baton_link_release(worker->link);
    free(worker);
}

void gw_fleet_lose(struct gw_fleet *fleet, struct gw_worker *worker, const char *reason)
{
    baton_log(BATON_LOG_WARN, "worker_lost", BATON_S("worker", worker->id),
              BATON_S("reason", reason), BATON_I("active", worker->n_active));
    gw_worker_list_remove(&fleet->workers, worker);
    fleet->options.on_lost(fleet->options.arg, worker, reason);
    gw_worker_free(worker);
    if (!fleet->workers.n) /* the next fleet may agree on something else */
        memset(&fleet->terms, 0, sizeof fleet->terms);
}

void gw_fleet_fini(struct gw_fleet *fleet)
{
    for (struct gw_worker *worker; (worker = gw_worker_list_pop_front(&fleet->workers));)
        gw_worker_free(worker);
    for (struct gw_worker *worker; (worker = gw_worker_list_pop_front(&fleet->refused));)
        gw_worker_free(worker);
}

size_t gw_fleet_n(const struct gw_fleet *fleet, Baton__V1__Role role, enum gw_worker_state state)
{
    size_t n = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        n += worker->role == role && worker->state == state;
    return n;
}

void gw_worker_send(struct gw_worker *worker, baton_envelope *envelope)
{
    enum baton_err err = baton_link_send(worker->link, envelope, NULL, 0);
    if (!err)
        return;
    baton_log(BATON_LOG_WARN, "send_failed", BATON_X("req", envelope->request_id),
              BATON_S("worker", worker->id), BATON_S("message", baton_envelope_kind(envelope)),
              BATON_S("err", baton_err_name(err)));
    baton_link_close(worker->link); /* the next tick finds it down and takes the consequences */
}

void gw_worker_take_status(struct gw_worker *worker, const Baton__V1__Status *status)
{
    worker->status = (struct gw_worker_status){.n_queued = status->n_queued,
                                               .n_running = status->n_running,
                                               .n_queued_tokens = status->n_queued_tokens,
                                               .kv_blocks_total = status->kv_blocks_total,
                                               .kv_blocks_free = status->kv_blocks_free,
                                               .kv_blocks_cached = status->kv_blocks_cached,
                                               .kv_blocks_reserved = status->kv_blocks_reserved,
                                               .last_step_s = status->last_step_s,
                                               .busy_s = status->busy_s,
                                               .tokens_per_s = status->tokens_per_s,
                                               .step_base_s = status->step_base_s,
                                               .step_row_s = status->step_row_s,
                                               .step_max_rows = status->step_max_rows,
                                               .n_requests_max = status->n_requests_max,
                                               .prefix_tokens = status->prefix_tokens,
                                               .prefix_hit_tokens = status->prefix_hit_tokens};
    gw_worker_load_told(
        &worker->load,
        &(struct gw_work){.n_requests = (int64_t)status->n_queued + status->n_running,
                          .n_queued_tokens = status->n_queued_tokens,
                          .n_blocks = (int64_t)status->kv_blocks_total - status->kv_blocks_free});
    worker->backing_off = false;
}

static void take_status(struct gw_fleet *fleet, struct gw_worker *worker,
                        const Baton__V1__Status *status)
{
    gw_worker_take_status(worker, status);
    if (status->draining)
        worker->state = GW_WORKER_DRAINING;
    else if (worker->state == GW_WORKER_JOINING || worker->state == GW_WORKER_SUSPECT)
        worker->state = GW_WORKER_READY;
    fleet->options.on_capacity(fleet->options.arg);
}

static void dispatch(struct gw_fleet *fleet, struct gw_worker *worker,
                     const baton_envelope *envelope)
{
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_STATUS) {
        take_status(fleet, worker, envelope->status);
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_GOODBYE) {
        worker->state = GW_WORKER_DRAINING;
        baton_log(BATON_LOG_INFO, "worker_draining", BATON_S("worker", worker->id),
                  BATON_S("reason", envelope->goodbye->reason));
    } else {
        fleet->options.on_message(fleet->options.arg, worker, envelope);
    }
}

void gw_fleet_receive(struct gw_fleet *fleet, const struct baton_message *message, int64_t now_ns)
{
    const baton_envelope *envelope = message->envelope;
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_HELLO) {
        gw_handshake_greet(fleet, message, now_ns);
        return;
    }
    struct gw_worker *worker = gw_worker_list_first(&fleet->workers);
    while (worker && baton_link_id(worker->link) != envelope->link)
        worker = gw_worker_list_next(&fleet->workers, worker);
    if (!worker) { /* of a link that ended: its sender shall know, and begin another */
        baton_inbox_reject(fleet->options.inbox, message);
        return;
    }
    switch (baton_link_accept(worker->link, envelope, now_ns)) {
    case BATON_LINK_FRESH:
        dispatch(fleet, worker, envelope);
        break;
    case BATON_LINK_STALE:
        break;
    case BATON_LINK_GAP:
        baton_inbox_reject(fleet->options.inbox, message);
        gw_fleet_lose(fleet, worker, "a message was lost");
        break;
    }
}

static void beat(const struct gw_fleet *fleet, struct gw_worker *worker, int64_t now_ns)
{
    Baton__V1__Status status = BATON__V1__STATUS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    worker->beat_due_ns = now_ns + fleet->options.beat_ns;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_STATUS;
    envelope.status = &status;
    gw_worker_send(worker, &envelope);
}

/* While this process itself was stopped, or starved, there was nobody to hear. */
static int64_t last_heard_ns(const struct gw_fleet *fleet, const struct gw_worker *worker)
{
    int64_t heard_ns = baton_link_heard_ns(worker->link);
    return heard_ns > fleet->awake_ns ? heard_ns : fleet->awake_ns;
}

static int64_t dead_after_ns(const struct gw_fleet *fleet)
{
    const struct gw_fleet_options *options = &fleet->options;
    return options->silence_ns ? options->silence_ns : DEAD_BEATS * options->beat_ns;
}

static void tick_worker(struct gw_fleet *fleet, struct gw_worker *worker, int64_t now_ns,
                        bool heard_all)
{
    int64_t silent_ns = heard_all ? now_ns - last_heard_ns(fleet, worker) : 0;
    if (baton_link_state(worker->link) == BATON_OUTBOX_DOWN) {
        gw_fleet_lose(fleet, worker,
                      worker->state == GW_WORKER_DRAINING ? "left" : "its process is gone");
        return;
    }
    if (silent_ns > dead_after_ns(fleet)) {
        gw_fleet_lose(fleet, worker, "it does not answer");
        return;
    }
    if (silent_ns > dead_after_ns(fleet) / 2 && worker->state == GW_WORKER_READY) {
        worker->state = GW_WORKER_SUSPECT;
        baton_log(BATON_LOG_WARN, "worker_suspect", BATON_S("worker", worker->id),
                  BATON_F("silent_s", baton_seconds(silent_ns)));
    }
    if (now_ns >= worker->beat_due_ns)
        beat(fleet, worker, now_ns);
}

void gw_fleet_tick(struct gw_fleet *fleet, int64_t now_ns, bool heard_all)
{
    if (now_ns - fleet->ticked_ns > fleet->options.beat_ns)
        fleet->awake_ns = now_ns;
    fleet->ticked_ns = now_ns;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers), *next; worker;
         worker = next) {
        next = gw_worker_list_next(&fleet->workers, worker);
        tick_worker(fleet, worker, now_ns, heard_all);
    }
    for (struct gw_worker *worker;
         (worker = gw_worker_list_first(&fleet->refused)) && now_ns >= worker->beat_due_ns;) {
        gw_worker_list_remove(&fleet->refused, worker);
        gw_worker_free(worker);
    }
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
        gw_worker_send(worker, &envelope);
    }
}
