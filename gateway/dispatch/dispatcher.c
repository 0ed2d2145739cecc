#include "gateway/dispatch/dispatcher.h"

#include "common/base/clock.h"
#include "gateway/lifecycle/hedge.h"
#include "gateway/routing/needs.h"
#include "gateway/routing/preemption.h"

/* The longest time before tokens are acknowledged, for outputs that take longer to use up their
 * share of the credit (worker_messages.c). */
#define ACK_EVERY_NS (50 * BATON_MS)
enum { CHECKS_A_TICK = 1024 };

static const struct gw_failure deadline_passed = {504, "deadline_exceeded",
                                                  "the request's deadline passed"};
static const struct gw_failure deadline_too_near = {
    504, "deadline_exceeded", "the request waited too long to be finished before its deadline"};

static const struct gw_failure unsendable = {
    500, "internal_error", "a message to a worker exceeds a limit of the wire: see the log"};

enum baton_err gw_dispatcher_init(struct gw_dispatcher *dispatcher,
                                  const struct gw_dispatcher_options *options,
                                  const struct gw_core *core, struct gw_fleet *fleet)
{
    *dispatcher = (struct gw_dispatcher){.core = core, .fleet = fleet};
    gw_lifecycle_init(&dispatcher->lifecycle, &options->lifecycle, core);
    enum baton_err err =
        gw_routing_init(&dispatcher->routing, &options->routing, &dispatcher->lifecycle, fleet);
    gw_admission_init(&dispatcher->admission, &options->bounds, &dispatcher->lifecycle,
                      &dispatcher->routing);
    return err;
}

void gw_dispatcher_fini(struct gw_dispatcher *dispatcher)
{
    gw_routing_fini(&dispatcher->routing);
}

void gw_dispatcher_pump(struct gw_dispatcher *dispatcher)
{
    while (dispatcher->lifecycle.wants_pump) {
        dispatcher->lifecycle.wants_pump = false;
        gw_routing_route_queued(&dispatcher->routing);
    }
}

/* ---- losses and time ---- */

void gw_dispatcher_worker_lost(struct gw_dispatcher *dispatcher, const struct gw_worker *worker)
{
    gw_lifecycle_worker_lost(&dispatcher->lifecycle, worker);
    gw_routing_forget(&dispatcher->routing, worker);
    dispatcher->lifecycle.wants_pump = true; /* queued requests may have become unservable */
}

void gw_dispatcher_worker_unfit(struct gw_dispatcher *dispatcher, const struct gw_worker *worker)
{
    gw_lifecycle_worker_unfit(&dispatcher->lifecycle, worker);
    dispatcher->lifecycle.wants_pump = true;
}

/* Why a request must end now, or NULL. */
static const struct gw_failure *must_end(const struct gw_dispatcher *dispatcher,
                                         const struct gw_request *request, int64_t now_ns)
{
    if (request->is_unsendable)
        return &unsendable;
    if (request->deadline_ns && now_ns >= request->deadline_ns)
        return &deadline_passed;
    return gw_admission_will_miss_deadline(&dispatcher->admission, request, now_ns)
               ? &deadline_too_near
               : NULL;
}

static void tick_list(struct gw_dispatcher *dispatcher, enum gw_state state, int64_t now_ns)
{
    struct gw_request_list *list = gw_lifecycle_list(&dispatcher->lifecycle, state);
    for (struct gw_request *request = gw_request_list_first(list); request;) {
        const struct gw_failure *failure = must_end(dispatcher, request, now_ns);
        if (failure) {
            gw_lifecycle_fail(&dispatcher->lifecycle, request, failure);
            request = gw_request_list_first(list); /* the failure may have ended the next one too */
            continue;
        }
        if (state == GW_DECODING && !request->paused &&
            request->attempt.acked_index != request->output.tokens.n &&
            now_ns - request->attempt.acked_ns >= ACK_EVERY_NS)
            gw_lifecycle_ack(request, now_ns);
        request = gw_request_list_next(list, request);
    }
}

/* Checks as many requests as may wait by default. A longer queue is checked over several ticks,
 * because a pass over all of it would delay the streams that this thread serves as well. */
static void tick_queued(struct gw_dispatcher *dispatcher, int64_t now_ns)
{
    struct gw_request_list *queued = gw_lifecycle_list(&dispatcher->lifecycle, GW_QUEUED);
    struct gw_request **next = &dispatcher->core->requests->checked_next;
    for (size_t n = queued->n < CHECKS_A_TICK ? queued->n : CHECKS_A_TICK; n && queued->n; n--) {
        struct gw_request *request = *next ? *next : gw_request_list_first(queued);
        /* Before a failure, which may destroy more requests; leave_state then moves *next on. */
        *next = gw_request_list_next(queued, request);
        const struct gw_failure *failure = must_end(dispatcher, request, now_ns);
        if (failure)
            gw_lifecycle_fail(&dispatcher->lifecycle, request, failure);
    }
}

/* A worker that was full may have capacity again before its next Status says so. */
static void retry_rejected(struct gw_dispatcher *dispatcher)
{
    struct gw_fleet *fleet = dispatcher->fleet;
    bool is_queue = gw_lifecycle_list(&dispatcher->lifecycle, GW_QUEUED)->n > 0;
    if (!fleet->census.any_rejected)
        return;
    fleet->census.any_rejected = is_queue;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        gw_worker_may_have_capacity(worker);
        for (int i = 0; i < BATON_N_PRIORITIES; i++)
            worker->recently_rejected[i] &= is_queue;
    }
}

/* How long the first request in the queue has waited for capacity. Waiting for a worker to come
 * back does not count: it is not a measure of how fast the fleet works off its queue. */
static double waited_s(const struct gw_dispatcher *dispatcher, int64_t now_ns)
{
    const struct gw_request *first =
        gw_request_list_first(gw_lifecycle_list(&dispatcher->lifecycle, GW_QUEUED));
    return first && !gw_needs_awaits_worker(&dispatcher->routing, first)
               ? baton_seconds(now_ns - first->queued_ns)
               : 0;
}

/* Whether a request of the state is at a worker that the gateway hears, and so may progress. */
static bool any_moves(const struct gw_dispatcher *dispatcher, enum gw_state state, int64_t now_ns)
{
    const struct gw_request_list *list = gw_lifecycle_list(&dispatcher->lifecycle, state);
    for (struct gw_request *request = gw_request_list_first(list); request;
         request = gw_request_list_next(list, request)) {
        const struct gw_attempt *attempt = &request->attempt;
        const struct gw_worker *worker = state == GW_PREFILLING ? attempt->prompt_at
                                         : attempt->decode      ? attempt->decode
                                                                : attempt->prefill;
        if (worker && gw_fleet_hears(dispatcher->fleet, worker, now_ns))
            return true;
    }
    return false;
}

/* Time without any worker to make progress is not counted as work. Counted, it would make the fleet
 * look so slow that admission rejects requests that it can serve in time. */
static struct gw_standstill standstill(const struct gw_dispatcher *dispatcher, int64_t now_ns)
{
    const struct gw_request *first =
        gw_request_list_first(gw_lifecycle_list(&dispatcher->lifecycle, GW_QUEUED));
    return (struct gw_standstill){
        .routing = first && !gw_needs_may_move(&dispatcher->routing, first, now_ns),
        .compute = !any_moves(dispatcher, GW_PREFILLING, now_ns),
        .output = !any_moves(dispatcher, GW_DECODING, now_ns)};
}

void gw_dispatcher_wake(struct gw_dispatcher *dispatcher, int64_t now_ns)
{
    if (gw_fleet_slept(dispatcher->fleet, now_ns))
        gw_throughput_slept(&dispatcher->lifecycle.throughput, now_ns);
}

/* Hedges the requests of suspects, but only inside their numeric class: the suspect may still
 * continue, and a hedge in another class could change the tokens for nothing. */
static void hedge(struct gw_dispatcher *dispatcher)
{
    const struct gw_fleet *fleet = dispatcher->fleet;
    if (!gw_fleet_n(fleet, BATON__V1__ROLE__ROLE_DECODE, GW_WORKER_SUSPECT))
        return;
    gw_class_set ready = gw_fleet_ready(fleet, BATON__V1__ROLE__ROLE_DECODE);
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->state == GW_WORKER_SUSPECT && ready & gw_class_set_of(worker->numeric_class))
            gw_hedge_begin(&dispatcher->lifecycle, worker);
}

void gw_dispatcher_tick(struct gw_dispatcher *dispatcher, int64_t now_ns)
{
    const struct gw_standstill still = standstill(dispatcher, now_ns);
    gw_throughput_tick(&dispatcher->lifecycle.throughput, waited_s(dispatcher, now_ns), &still,
                       now_ns);
    tick_queued(dispatcher, now_ns);
    for (int state = GW_QUEUED + 1; state <= GW_PREEMPTED; state++)
        tick_list(dispatcher, (enum gw_state)state, now_ns);
    hedge(dispatcher);
    retry_rejected(dispatcher);
    gw_preemption_make_room(&dispatcher->routing);
    gw_routing_hand_over(&dispatcher->routing); /* running sequences take blocks before the queue */
    dispatcher->lifecycle.wants_pump = true;
}
