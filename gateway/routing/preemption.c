#include "gateway/routing/preemption.h"

#include "gateway/routing/needs.h"
#include "gateway/routing/pair.h"

/* Whether the worker could decode the request if it had the blocks. */
static bool may_hold(const struct gw_routing *routing, const struct gw_worker *worker,
                     const struct gw_request *request)
{
    return worker->role == BATON__V1__ROLE__ROLE_DECODE && gw_worker_is_there(worker) &&
           gw_class_set_of(worker->numeric_class) & gw_needs_classes(routing, request) &&
           gw_needs_fit(routing, worker, request);
}

static bool any_has_blocks(const struct gw_routing *routing, const struct gw_request *request)
{
    const struct gw_worker_list *workers = &routing->fleet->workers;
    int64_t n_wanted = gw_needs_n_blocks(routing, request);
    for (struct gw_worker *worker = gw_worker_list_first(workers); worker;
         worker = gw_worker_list_next(workers, worker))
        if (may_hold(routing, worker, request) && gw_pair_has_blocks(worker, request, n_wanted))
            return true;
    return false;
}

static bool lacks_blocks(const struct gw_routing *routing, const struct gw_request *request)
{
    return !gw_needs_unmet(routing, request) && gw_needs_decode(routing, request) &&
           !any_has_blocks(routing, request);
}

/* The request that has been paused longest at a worker that may hold the waiting one. A client that
 * only reads slowly stops for a shorter time, so it rarely comes first. NULL: none. */
static struct gw_request *longest_paused(const struct gw_routing *routing,
                                         const struct gw_request *waiting)
{
    const struct gw_request_list *list = gw_lifecycle_list(routing->lifecycle, GW_DECODING);
    struct gw_request *longest = NULL;
    for (struct gw_request *request = gw_request_list_first(list); request;
         request = gw_request_list_next(list, request))
        if (gw_lifecycle_may_preempt(routing->lifecycle, request) &&
            (!longest || request->paused_ns < longest->paused_ns) &&
            may_hold(routing, request->attempt.decode, waiting))
            longest = request;
    return longest;
}

/* The request that gives way to the waiting one, or else to those behind it: nobody reads it. */
static struct gw_request *who_gives_way(const struct gw_routing *routing,
                                        struct gw_request *waiting)
{
    return gw_lifecycle_may_preempt(routing->lifecycle, waiting) ? waiting
                                                                 : longest_paused(routing, waiting);
}

/* Preempts one request for the first one of the class; false if there is no need or none can be. */
static bool preempt_for(struct gw_routing *routing, enum baton_priority priority)
{
    const struct gw_requests *requests = routing->lifecycle->core->requests;
    struct gw_request *waiting = gw_request_queue_first(&requests->queued[priority]);
    if (!waiting || !lacks_blocks(routing, waiting))
        return false;
    struct gw_request *preempted = who_gives_way(routing, waiting);
    if (preempted)
        gw_lifecycle_preempt(routing->lifecycle, preempted);
    return preempted;
}

void gw_preemption_make_room(struct gw_routing *routing)
{
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        while (preempt_for(routing, (enum baton_priority)i))
            ;
}
