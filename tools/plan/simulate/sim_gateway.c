#include "tools/plan/simulate/sim_gateway.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"

enum baton_err sim_gateway_init(struct sim_gateway *gateway)
{
    size_t n_prefill = (size_t)gateway->n_prefill, n_decode = (size_t)gateway->n_decode;
    sim_request_list_init(&gateway->queued);
    gateway->prefill_candidates = calloc(n_prefill, sizeof(struct sim_prefill *));
    gateway->decode_candidates = calloc(n_decode, sizeof(struct sim_decode *));
    gateway->prefill_views = calloc(n_prefill, sizeof *gateway->prefill_views);
    gateway->decode_views = calloc(n_decode, sizeof *gateway->decode_views);
    if (gateway->prefill_candidates && gateway->decode_candidates && gateway->prefill_views &&
        gateway->decode_views)
        return BATON_OK;
    sim_gateway_fini(gateway);
    return BATON_NO_MEMORY;
}

void sim_gateway_fini(struct sim_gateway *gateway)
{
    free(gateway->prefill_candidates);
    free(gateway->decode_candidates);
    free(gateway->prefill_views);
    free(gateway->decode_views);
    *gateway = (struct sim_gateway){.shared = gateway->shared};
}

/* ---- routing ---- */

static bool is_backlogged(const struct sim_prefill *worker, double tokens_per_s)
{
    return baton_routing_is_backlogged(worker->n_held,
                                       baton_routing_wait_s(worker->n_queued_tokens, tokens_per_s));
}

static struct sim_prefill *choose_prefill(struct sim_gateway *gateway)
{
    size_t n = 0;
    for (int i = 0; i < gateway->n_prefill; i++) {
        struct sim_prefill *worker = &gateway->prefills[i];
        double rate = baton_rate_per_s(&worker->rate);
        if (is_backlogged(worker, rate))
            continue;
        gateway->prefill_candidates[n] = worker;
        gateway->prefill_views[n++] = (struct baton_routing_prefill_view){
            .queued_tokens = worker->n_queued_tokens, .tokens_per_s = rate, .turn = worker->turn};
    }
    if (!n)
        return NULL;
    enum baton_routing_policy policy = gateway->shared->settings->prefill_policy;
    return gateway->prefill_candidates[baton_routing_prefill(policy, gateway->prefill_views, n)];
}

static struct sim_decode *choose_decode(struct sim_gateway *gateway, int64_t n_blocks)
{
    size_t n = 0;
    for (int i = 0; i < gateway->n_decode; i++) {
        struct sim_decode *worker = &gateway->decodes[i];
        if (!sim_decode_has_capacity(worker, gateway->shared, n_blocks))
            continue;
        gateway->decode_candidates[n] = worker;
        gateway->decode_views[n++] = (struct baton_routing_decode_view){
            .n_requests = worker->n_requests,
            .n_free_blocks = worker->max_blocks - worker->n_blocks,
            .step_s = worker->last_step_s,
            .turn = worker->turn};
    }
    if (!n)
        return NULL;
    enum baton_routing_policy policy = gateway->shared->settings->decode_policy;
    return gateway->decode_candidates[baton_routing_decode(policy, gateway->decode_views, n)];
}

/* ---- the queue ---- */

/* Routes the request. False when it must wait for capacity. */
static bool route(struct sim_gateway *gateway, struct sim_request *request)
{
    bool wants_decode = request->n_output > 1;
    struct sim_prefill *prefill = choose_prefill(gateway);
    struct sim_decode *decode = NULL;
    if (prefill && wants_decode)
        decode = choose_decode(gateway, request->n_blocks);
    if (!prefill || (wants_decode && !decode))
        return false;
    /* Blocks are reserved at once: the simulated gateway knows them exactly, so no Reserve is ever
     * rejected. */
    sim_request_list_remove(&gateway->queued, request);
    gateway->n_queued_tokens -= request->n_prompt;
    request->prefill = prefill;
    request->sent_ns = gateway->shared->now_ns;
    prefill->turn = ++gateway->n_turns;
    prefill->n_queued_tokens += request->n_prompt;
    if (decode) {
        decode->turn = ++gateway->n_turns;
        sim_decode_reserve(decode, request);
    }
    sim_prefill_add(prefill, gateway->shared, request);
    return true;
}

/* Routes first come, first served: stops at the first request that must wait, as the gateway
 * does. */
static void pump(struct sim_gateway *gateway)
{
    struct sim_request *request;
    while ((request = sim_request_list_first(&gateway->queued)) && route(gateway, request))
        ;
}

static void refuse(struct sim_gateway *gateway, struct sim_request *request, const char *why)
{
    struct ld_record *record = request->record;
    (void)snprintf(record->failure, sizeof record->failure, "%s", why);
    record->outcome = LD_FAILED;
    sim_events_add(&gateway->shared->events, gateway->shared->now_ns, SIM_END, request, 0);
}

void sim_gateway_queue(struct sim_gateway *gateway, struct sim_request *request)
{
    const struct sim_settings *settings = gateway->shared->settings;
    request->queued_ns = gateway->shared->now_ns;
    if (request->n_blocks > settings->kv_blocks) { /* it would block the queue for ever */
        refuse(gateway, request, "larger than a decode worker's KV cache");
        return;
    }
    if ((int64_t)gateway->queued.n >= settings->max_queued ||
        gateway->n_queued_tokens + request->n_prompt > settings->max_queued_tokens) {
        request->record->n_refused++;
        refuse(gateway, request, "HTTP 429: queue_full");
        return;
    }
    sim_request_list_push_back(&gateway->queued, request);
    gateway->n_queued_tokens += request->n_prompt;
    pump(gateway);
}

/* ---- tokens ---- */

void sim_gateway_first(struct sim_gateway *gateway, struct sim_request *request)
{
    /* The gateway learns only now that the prompt is computed, so its tokens count until now. */
    request->prefill->n_queued_tokens -= request->n_prompt;
    request->has_first = true;
    request->n_made = 1;
    request->record->first_ns =
        sim_relay_token(&gateway->shared->relay, request->record, gateway->shared->now_ns);
    if (!request->decode)
        sim_events_add(&gateway->shared->events, request->record->first_ns, SIM_END, request, 0);
    pump(gateway);
}

void sim_gateway_ended(struct sim_gateway *gateway)
{
    pump(gateway);
}
