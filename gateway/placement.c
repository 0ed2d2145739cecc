#include "gateway/placement.h"

#include <stdio.h>

#include "common/base/clock.h"
#include "gateway/orders.h"

static const struct gw_failure no_prefill = {503, "no_worker",
                                             "no prefill worker is ready; try again shortly"};
static const struct gw_failure no_decode = {503, "no_worker",
                                            "no decode worker is ready; try again shortly"};

/* A second worker is wanted only where a second token is. */
static bool wants_decode(const struct gw_request *request)
{
    return request->ask.kv_cache && request->ask.max_new_tokens > 1;
}

/* ---- who works for a request ---- */

static void assign(struct gw_worker **place, char id[65], struct gw_worker *worker)
{
    *place = worker;
    worker->n_active++;
    (void)snprintf(id, 65, "%s", worker->id);
}

void gw_placement_leave(struct gw_worker **place)
{
    if (*place)
        (*place)->n_active--;
    *place = NULL;
}

void gw_placement_release(struct gw_request *request, const char *reason)
{
    gw_order_cancel(request, reason);
    gw_placement_leave(&request->prefill);
    gw_placement_leave(&request->decode);
}

/* ---- placement ---- */

static bool is_better(const struct gw_worker *a, const struct gw_worker *b)
{
    if (!b)
        return true;
    if (a->n_active != b->n_active)
        return a->n_active < b->n_active;
    return a->status.kv_blocks_free > b->status.kv_blocks_free;
}

static struct gw_worker *choose(const struct gw_router *router, Baton__V1__Role role)
{
    struct gw_worker *best = NULL;
    const struct gw_worker_list *workers = &router->options.fleet->workers;
    for (struct gw_worker *worker = gw_worker_list_first(workers); worker;
         worker = gw_worker_list_next(workers, worker))
        if (worker->role == role && worker->state == GW_WORKER_READY && !worker->full &&
            is_better(worker, best))
            best = worker;
    return best;
}

void gw_placement_prefill(struct gw_router *router, struct gw_request *request)
{
    request->times.prefill_sent_ns = baton_now_ns();
    gw_router_set_state(router, request, GW_PREFILLING, request->prefill->id);
    gw_order_prefill(request);
}

/* False when the request must wait for room (or a worker that is full). */
static bool place(struct gw_router *router, struct gw_request *request)
{
    struct gw_worker *prefill = choose(router, BATON__V1__ROLE__ROLE_PREFILL);
    struct gw_worker *decode =
        wants_decode(request) ? choose(router, BATON__V1__ROLE__ROLE_DECODE) : NULL;
    if (!prefill || (!decode && wants_decode(request)))
        return false;
    request->prefill_id[0] = request->decode_id[0] = 0;
    assign(&request->prefill, request->prefill_id, prefill);
    if (!decode) {
        gw_placement_prefill(router, request);
        return true;
    }
    assign(&request->decode, request->decode_id, decode);
    gw_router_set_state(router, request, GW_RESERVING, request->decode->id);
    gw_order_reserve(request);
    return true;
}

/* A suspect worker may answer again: worth waiting for, not worth new work. */
static bool has_worker(const struct gw_router *router, Baton__V1__Role role)
{
    const struct gw_fleet *fleet = router->options.fleet;
    return gw_fleet_n(fleet, role, GW_WORKER_READY) || gw_fleet_n(fleet, role, GW_WORKER_SUSPECT);
}

const struct gw_failure *gw_placement_hopeless(const struct gw_router *router,
                                               const struct gw_request *request)
{
    if (!has_worker(router, BATON__V1__ROLE__ROLE_PREFILL))
        return &no_prefill;
    if (wants_decode(request) && !has_worker(router, BATON__V1__ROLE__ROLE_DECODE))
        return &no_decode;
    return NULL;
}

void gw_placement_pump(struct gw_router *router)
{
    struct gw_request_list *queued = gw_router_list(router, GW_QUEUED);
    for (struct gw_request *request; (request = gw_request_list_first(queued));) {
        const struct gw_failure *failure = gw_placement_hopeless(router, request);
        if (failure)
            gw_router_fail(router, request, failure);
        else if (!place(router, request))
            return; /* first come, first served: nobody overtakes */
    }
}
