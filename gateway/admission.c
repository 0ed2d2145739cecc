#include "gateway/admission.h"

#include "gateway/placement.h"

bool gw_admission_submit(struct gw_router *router, struct gw_request *request,
                         struct gw_failure *failure)
{
    const struct gw_router_options *options = &router->options;
    const struct gw_failure *reason = gw_placement_hopeless(router, request);
    struct gw_failure full = {429, "queue_full", "too many requests are waiting; try again later"};
    struct gw_failure draining = {503, "draining", "the gateway is stopping"};
    if (!reason && router->draining)
        reason = &draining;
    if (!reason &&
        (gw_router_list(router, GW_QUEUED)->n + gw_router_list(router, GW_RESERVING)->n >=
             (size_t)options->max_queued ||
         router->n_waiting_tokens + request->ask.prompt.n > (size_t)options->max_queued_tokens))
        reason = &full;
    if (reason) {
        *failure = *reason;
        gw_router_set_state(router, request, GW_FAILED, reason->message);
        gw_router_settle(router, request, GW_OUTCOME_rejected, reason->message);
        return false;
    }
    gw_router_set_state(router, request, GW_QUEUED, "");
    gw_placement_pump(router);
    return true;
}
