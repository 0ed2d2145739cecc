#include "gateway/routing/needs.h"

#include <stdio.h>

#include "common/base/clock.h"

/* ---- workers that could serve a request ---- */

bool gw_needs_capable(const struct gw_worker *worker, const struct gw_request *request)
{
    return (!request->params.pooling || worker->embeds) &&
           gw_adapters_have(&worker->adapters, &request->params.adapters);
}

bool gw_needs_fit(const struct gw_routing *routing, const struct gw_worker *worker,
                  const struct gw_request *request)
{
    if (!gw_needs_capable(worker, request))
        return false;
    /* A prefill worker holds the prompt only: its first token is never an input there. In naive
     * mode it generates the whole output and needs positions for it. */
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
    /* A request that needs no decode worker any more can also stay with a prefill worker alone. */
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
    /* A stream that has begun may continue on any decode worker, however long its input is, if no
     * prefill worker is left for it. */
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

/* ---- why no worker can ---- */

static const struct gw_failure no_prefill = {503, "no_worker",
                                             "no prefill worker is ready; try again shortly"};
static const struct gw_failure no_decode = {503, "no_worker",
                                            "no decode worker is ready; try again shortly"};
static const struct gw_failure no_path = {
    503, "no_worker", "no prefill worker reaches a decode worker; try again shortly"};
static const struct gw_failure no_class = {
    503, "no_worker",
    "no numeric class has a prefill and a decode worker (--strict-class); try again shortly"};
static const struct gw_failure no_class_left = {
    503, "no_worker", "no worker of the request's numeric class is left (--strict-class)"};
static const struct gw_failure no_memory = {400, "context_length_exceeded", "prompt is too long"};
static const struct gw_failure no_adapter = {
    404, "model_not_found", "the request's adapter is not on a worker of each role any more"};
static const struct gw_failure no_embedder = {
    503, "no_worker", "no prefill worker computes embeddings: all have an earlier version"};

/* The role that the request needs and that no worker has in the request's classes. */
static Baton__V1__Role missing_role(const struct gw_routing *routing,
                                    const struct gw_request *request)
{
    gw_class_set classes = gw_needs_classes(routing, request);
    if (!(gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_PREFILL) & classes) &&
        !gw_needs_must_colocate(routing, request))
        return BATON__V1__ROLE__ROLE_PREFILL;
    if (gw_needs_decode(routing, request) &&
        !(gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_DECODE) & classes))
        return BATON__V1__ROLE__ROLE_DECODE;
    return BATON__V1__ROLE__ROLE_UNSPECIFIED;
}

/* Whether both roles have workers, but no class has both, and classes are strict. */
static bool is_divided(const struct gw_routing *routing, const struct gw_request *request)
{
    return routing->options.strict_class && gw_needs_decode(routing, request) &&
           !gw_needs_may_colocate(routing, request, 0) &&
           !(gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_PREFILL) &
             gw_fleet_serves(routing->fleet, BATON__V1__ROLE__ROLE_DECODE) &
             gw_needs_classes(routing, request));
}

/* Whether workers of both roles are ready, but no prefill worker reaches any decode worker. */
static bool is_cut_off(const struct gw_routing *routing, const struct gw_request *request)
{
    const struct gw_fleet *fleet = routing->fleet;
    bool any = false;
    if (!routing->cut_paths.n || !gw_needs_decode(routing, request) ||
        gw_needs_may_colocate(routing, request, 0))
        return false;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        if (worker->role != BATON__V1__ROLE__ROLE_PREFILL || worker->state != GW_WORKER_READY)
            continue;
        if (gw_cut_paths_reach_any(&routing->cut_paths, routing->fleet, worker))
            return false;
        any = true;
    }
    return any && gw_fleet_n(fleet, BATON__V1__ROLE__ROLE_DECODE, GW_WORKER_READY);
}

bool gw_needs_awaits_worker(const struct gw_routing *routing, const struct gw_request *request)
{
    int64_t now_ns = baton_now_ns();
    Baton__V1__Role role = missing_role(routing, request);
    gw_class_set classes = gw_needs_classes(routing, request);
    if (role)
        return classes == gw_any_class ? gw_fleet_awaits(routing->fleet, role, now_ns)
                                       : gw_fleet_expects(routing->fleet, role, now_ns) & classes;
    return is_divided(routing, request) &&
           gw_fleet_expects(routing->fleet, BATON__V1__ROLE__ROLE_PREFILL, now_ns) &
               gw_fleet_expects(routing->fleet, BATON__V1__ROLE__ROLE_DECODE, now_ns) & classes;
}

static const struct gw_failure *absent(const struct gw_routing *routing,
                                       const struct gw_request *request, Baton__V1__Role missing)
{
    if (gw_needs_classes(routing, request) != gw_any_class)
        return &no_class_left;
    return missing == BATON__V1__ROLE__ROLE_PREFILL  ? &no_prefill
           : missing == BATON__V1__ROLE__ROLE_DECODE ? &no_decode
                                                     : &no_class;
}

static bool hears_any(const struct gw_routing *routing, Baton__V1__Role role, int64_t now_ns)
{
    const struct gw_fleet *fleet = routing->fleet;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == role && worker->state == GW_WORKER_READY &&
            gw_fleet_hears(fleet, worker, now_ns))
            return true;
    return false;
}

bool gw_needs_may_move(const struct gw_routing *routing, const struct gw_request *request,
                       int64_t now_ns)
{
    return (gw_needs_must_colocate(routing, request) ||
            hears_any(routing, BATON__V1__ROLE__ROLE_PREFILL, now_ns)) &&
           (!gw_needs_decode(routing, request) ||
            hears_any(routing, BATON__V1__ROLE__ROLE_DECODE, now_ns));
}

static bool any_capable(const struct gw_routing *routing, Baton__V1__Role role,
                        const struct gw_request *request)
{
    const struct gw_fleet *fleet = routing->fleet;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == role && gw_needs_capable(worker, request))
            return true;
    return false;
}

/* Both roles have workers, but in one of them none may serve the request. */
static const struct gw_failure *why_none_fits(const struct gw_routing *routing,
                                              const struct gw_request *request)
{
    if ((gw_needs_must_colocate(routing, request) ||
         any_capable(routing, BATON__V1__ROLE__ROLE_PREFILL, request)) &&
        (!gw_needs_decode(routing, request) ||
         any_capable(routing, BATON__V1__ROLE__ROLE_DECODE, request)))
        return &no_memory;
    return request->params.adapters.n ? &no_adapter : &no_embedder;
}

const struct gw_failure *gw_needs_unmet(const struct gw_routing *routing,
                                        const struct gw_request *request)
{
    Baton__V1__Role missing = missing_role(routing, request);
    gw_class_set classes = gw_needs_classes(routing, request);
    if (!missing && is_cut_off(routing, request))
        return &no_path;
    if (missing || is_divided(routing, request))
        return gw_needs_awaits_worker(routing, request) ? NULL : absent(routing, request, missing);
    if ((!gw_needs_must_colocate(routing, request) &&
         !gw_needs_has_worker(routing, BATON__V1__ROLE__ROLE_PREFILL, request, classes)) ||
        (gw_needs_decode(routing, request) &&
         !gw_needs_has_worker(routing, BATON__V1__ROLE__ROLE_DECODE, request, classes)))
        return why_none_fits(routing, request);
    return NULL;
}

/* The tokens that the largest KV cache of a role holds. */
static int64_t largest_cache(const struct gw_fleet *fleet, Baton__V1__Role role)
{
    int64_t most = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        int64_t n = (int64_t)worker->status.kv_blocks_total * fleet->terms.kv_block_tokens;
        if (worker->role == role && gw_worker_is_there(worker) && n > most)
            most = n;
    }
    return most;
}

static void put_words(const struct gw_routing *routing, const struct gw_failure *failure,
                      char text[GW_OVERFLOW_WORDS_BYTES])
{
    if (routing->options.model && failure->status == 503)
        (void)snprintf(text, GW_OVERFLOW_WORDS_BYTES, "model \"%.64s\": %s", routing->options.model,
                       failure->message);
    else
        (void)snprintf(text, GW_OVERFLOW_WORDS_BYTES, "%s", failure->message);
}

const struct gw_failure *gw_needs_tell(const struct gw_routing *routing, struct gw_request *request,
                                       const struct gw_failure *unmet, struct gw_needs_words *words)
{
    static const char why[] = ", which the workers' KV caches hold";
    words->failure = *unmet;
    words->failure.message = words->text;
    if (unmet != &no_memory) {
        put_words(routing, unmet, words->text);
        return &words->failure;
    }
    int64_t n_prefill = largest_cache(routing->fleet, BATON__V1__ROLE__ROLE_PREFILL);
    int64_t n_decode = largest_cache(routing->fleet, BATON__V1__ROLE__ROLE_DECODE);
    int64_t n_ctx = n_decode && n_decode < n_prefill ? n_decode : n_prefill;
    size_t n_prompt = request->params.prompt.n;
    bool is_output = (int64_t)n_prompt <= n_ctx;
    n_ctx += is_output; /* the last token of an output is no input */
    if (is_output)
        gw_overflow_output_words(words->text, n_prompt, request->params.max_new_tokens, n_ctx, why);
    else
        gw_overflow_prompt_words(words->text, n_prompt, n_ctx, why);
    request->exceeded_tokens = n_ctx;
    return &words->failure;
}
