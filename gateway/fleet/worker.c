#include "gateway/fleet/worker.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/policy/routing_policy.h"

#define TO(state) (1u << GW_WORKER_##state)

/* The edges of the drawing in worker.h. */
static const unsigned edges[GW_N_WORKER_STATES] = {
    [GW_WORKER_JOINING] = TO(READY) | TO(STALLED) | TO(UNHEALTHY) | TO(DRAINING),
    [GW_WORKER_READY] = TO(SUSPECT) | TO(STALLED) | TO(UNHEALTHY) | TO(DRAINING),
    [GW_WORKER_SUSPECT] = TO(READY) | TO(STALLED) | TO(UNHEALTHY) | TO(DRAINING),
    [GW_WORKER_STALLED] = TO(READY) | TO(UNHEALTHY) | TO(DRAINING),
    [GW_WORKER_UNHEALTHY] = TO(DRAINING),
};

const char *gw_worker_state_name(enum gw_worker_state state)
{
    static const char *const names[] = {
#define X(name, text) text,
        GW_WORKER_STATES(X)
#undef X
    };
    return names[state];
}

const char *gw_worker_role_name(Baton__V1__Role role)
{
    return role == BATON__V1__ROLE__ROLE_PREFILL ? "prefill" : "decode";
}

void gw_worker_set_state(struct gw_worker *worker, enum gw_worker_state state, const char *reason)
{
    int64_t now_ns = baton_now_ns();
    bool is_edge = edges[worker->state] & 1u << state;
    bool is_bad =
        state == GW_WORKER_SUSPECT || state == GW_WORKER_STALLED || state == GW_WORKER_UNHEALTHY;
    baton_log(!is_edge ? BATON_LOG_ERROR
              : is_bad ? BATON_LOG_WARN
                       : BATON_LOG_INFO,
              is_edge ? "worker_state" : "impossible_edge", BATON_S("worker", worker->id),
              BATON_S("from", gw_worker_state_name(worker->state)),
              BATON_S("to", gw_worker_state_name(state)), BATON_S("reason", reason),
              BATON_F("after_s", baton_seconds(now_ns - worker->state_ns)));
    if (!is_edge)
        abort();
    worker->census->n[worker->role][worker->state]--;
    worker->census->n[worker->role][state]++;
    worker->state = state;
    worker->state_ns = now_ns;
    worker->now.n_changes++;
}

void gw_worker_set_status(struct gw_worker *worker, const Baton__V1__Status *status)
{
    worker->status = *status;
    /* A newer worker may send unknown fields; the message owns their memory, and ends before this
     * copy does. */
    worker->status.base.n_unknown_fields = 0;
    worker->status.base.unknown_fields = NULL;
    worker->now.n_changes++;
    gw_worker_load_reported(
        &worker->load,
        &(struct gw_work){.n_requests = (int64_t)status->n_queued + status->n_running,
                          .n_queued_tokens = status->n_queued_tokens,
                          .n_blocks = (int64_t)status->kv_blocks_total - status->kv_blocks_free});
    gw_worker_may_have_capacity(worker); /* the Status is newer than the rejection */
}

void gw_worker_rejected(struct gw_worker *worker, enum baton_priority priority)
{
    for (int i = (int)priority; i < BATON_N_PRIORITIES; i++)
        worker->backing_off[i] = worker->recently_rejected[i] = true;
    worker->census->any_rejected = true;
}

void gw_worker_may_have_capacity(struct gw_worker *worker)
{
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        worker->backing_off[i] = false;
}

enum baton_err gw_worker_send(struct gw_worker *worker, baton_envelope *envelope)
{
    enum baton_err err = baton_link_send(worker->link, envelope, NULL, 0);
    if (!err || err == BATON_INVALID || err == BATON_LIMIT)
        return err;
    baton_log(BATON_LOG_WARN, "send_failed", BATON_X("req", envelope->request_id),
              BATON_O("id", envelope->client_id), BATON_O("trace", envelope->trace_id),
              BATON_S("worker", worker->id), BATON_S("message", baton_envelope_kind(envelope)),
              BATON_S("err", baton_err_name(err)));
    baton_link_close(worker->link); /* the next tick finds the link down and drops the worker */
    return BATON_OK;
}

bool gw_worker_is_there(const struct gw_worker *worker)
{
    return worker->state == GW_WORKER_READY && baton_link_state(worker->link) != BATON_OUTBOX_DOWN;
}

void gw_worker_destroy(struct gw_worker *worker)
{
    baton_link_close(worker->link);
    baton_link_release(worker->link);
    gw_adapters_fini(&worker->adapters);
    free(worker);
}

/* A prefill worker reports its rate over all its steps, for all gateways. A decode worker's own
 * rate is one of generated tokens, so its prompt rate comes from the prompts that it computed for
 * this gateway. */
double gw_worker_prompt_rate(const struct gw_worker *worker)
{
    bool says = worker->role == BATON__V1__ROLE__ROLE_PREFILL && worker->status.tokens_per_s > 0;
    return says ? worker->status.tokens_per_s : worker->prompt_tokens_per_s;
}

double gw_worker_wait_s(const struct gw_worker *worker)
{
    return baton_routing_wait_s(gw_worker_load_now(&worker->load).n_queued_tokens,
                                gw_worker_prompt_rate(worker));
}
