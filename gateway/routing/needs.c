#include "gateway/routing/needs.h"

bool gw_needs_capable(const struct gw_worker *worker, const struct gw_request *request)
{
    return !request->params.pooling || worker->embeds;
}

bool gw_needs_fit(const struct gw_routing *routing, const struct gw_worker *worker,
                  const struct gw_request *request)
{
    if (!gw_needs_capable(worker, request))
        return false;
    bool is_prompt = worker->role == BATON__V1__ROLE__ROLE_PREFILL && request->params.kv_cache;
    int64_t n_new = is_prompt ? 1 : gw_request_n_more(request);
    return gw_attempt_n_blocks(gw_request_input(request)->n, n_new,
                               routing->fleet->terms.kv_block_tokens) <=
           (int64_t)worker->status.kv_blocks_total;
}

bool gw_needs_has_worker(const struct gw_routing *routing, Baton__V1__Role role,
                         const struct gw_request *request, gw_class_set classes)
{
    const struct gw_fleet *fleet = routing->fleet;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == role && gw_class_set_of(worker->numeric_class) & classes &&
            gw_needs_fit(routing, worker, request) &&
            (worker->state == GW_WORKER_READY || worker->state == GW_WORKER_SUSPECT))
            return true;
    return false;
}

gw_class_set gw_needs_classes(const struct gw_routing *routing, const struct gw_request *request)
{
    if (!gw_request_n_resumed(request))
        return gw_any_class;
    gw_class_set own =
        gw_class_set_of(gw_numeric_classes_find(&routing->fleet->classes, &request->numeric_class));
    bool is_last = !request->params.kv_cache || gw_request_n_more(request) == 1;
    bool can_stay =
        (request->params.kv_cache &&
         gw_needs_has_worker(routing, BATON__V1__ROLE__ROLE_DECODE, request, own)) ||
        (is_last && gw_needs_has_worker(routing, BATON__V1__ROLE__ROLE_PREFILL, request, own));
    return can_stay || routing->options.strict_class ? own : gw_any_class;
}

int64_t gw_needs_n_blocks(const struct gw_routing *routing, const struct gw_request *request)
{
    return gw_attempt_n_blocks(gw_request_input(request)->n, gw_request_n_more(request),
                               routing->fleet->terms.kv_block_tokens);
}

bool gw_needs_may_colocate(const struct gw_routing *routing, const struct gw_request *request,
                           int64_t n_cached_tokens)
{
    const struct gw_params *params = &request->params;
    bool resumes = gw_request_n_resumed(request) > 0;
    if (!params->kv_cache || params->pooling || (params->prompt_logprobs && !resumes))
        return false;
    /* A stream that has begun may go on where it can, if no prefill worker is left for it. */
    if (resumes && !gw_needs_has_worker(routing, BATON__V1__ROLE__ROLE_PREFILL, request,
                                        gw_needs_classes(routing, request)))
        return true;
    return (int64_t)gw_request_input(request)->n - n_cached_tokens <=
           routing->options.colocated_prefill_tokens;
}

bool gw_needs_must_colocate(const struct gw_routing *routing, const struct gw_request *request)
{
    Baton__V1__Role role = BATON__V1__ROLE__ROLE_PREFILL;
    bool has_prefill =
        gw_request_n_resumed(request)
            ? gw_needs_has_worker(routing, role, request, gw_needs_classes(routing, request))
            : gw_fleet_serves(routing->fleet, role) != GW_NO_CLASS;
    return !has_prefill && gw_needs_may_colocate(routing, request, 0);
}

bool gw_needs_decode(const struct gw_routing *routing, const struct gw_request *request)
{
    return request->params.kv_cache &&
           (gw_request_n_more(request) > 1 || gw_needs_must_colocate(routing, request));
}
