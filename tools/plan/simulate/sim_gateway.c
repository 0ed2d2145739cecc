#include "tools/plan/simulate/sim_gateway.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "tools/plan/simulate/world.h"

enum baton_err sim_gateway_init(struct sim_gateway *gateway, int n_gateways, int n_prefill,
                                int n_decode)
{
    *gateway = (struct sim_gateway){.n_queued_tokens = 0};
    sim_request_list_init(&gateway->queued);
    gateway->free_ns = calloc((size_t)n_gateways, sizeof *gateway->free_ns);
    gateway->prefills = calloc((size_t)n_prefill, sizeof(struct sim_prefill *));
    gateway->decodes = calloc((size_t)n_decode, sizeof(struct sim_decode *));
    gateway->prefill_views = calloc((size_t)n_prefill, sizeof *gateway->prefill_views);
    gateway->decode_views = calloc((size_t)n_decode, sizeof *gateway->decode_views);
    if (gateway->free_ns && gateway->prefills && gateway->decodes && gateway->prefill_views &&
        gateway->decode_views)
        return BATON_OK;
    sim_gateway_fini(gateway);
    return BATON_NO_MEMORY;
}

void sim_gateway_fini(struct sim_gateway *gateway)
{
    free(gateway->free_ns);
    free(gateway->prefills);
    free(gateway->decodes);
    free(gateway->prefill_views);
    free(gateway->decode_views);
    *gateway = (struct sim_gateway){.n_queued_tokens = 0};
}

/* ---- whom to take ---- */

static bool is_backlogged(const struct sim_prefill *worker, double tokens_per_s)
{
    return baton_routing_is_backlogged(worker->n_held,
                                       baton_routing_wait_s(worker->n_queued_tokens, tokens_per_s));
}

static struct sim_prefill *choose_prefill(struct sim_world *world)
{
    struct sim_gateway *gateway = &world->gateway;
    size_t n = 0;
    for (int i = 0; i < world->n_prefill; i++) {
        struct sim_prefill *worker = &world->prefills[i];
        double rate = baton_rate_per_s(&worker->rate);
        if (is_backlogged(worker, rate))
            continue;
        gateway->prefills[n] = worker;
        gateway->prefill_views[n++] = (struct baton_routing_prefill_view){
            .queued_tokens = worker->n_queued_tokens, .tokens_per_s = rate, .turn = worker->turn};
    }
    if (!n)
        return NULL;
    return gateway->prefills[baton_routing_prefill(world->settings->prefill_policy,
                                                   gateway->prefill_views, n)];
}

static struct sim_decode *choose_decode(struct sim_world *world, int64_t n_blocks)
{
    struct sim_gateway *gateway = &world->gateway;
    size_t n = 0;
    for (int i = 0; i < world->n_decode; i++) {
        struct sim_decode *worker = &world->decodes[i];
        if (!sim_decode_has_room(worker, world, n_blocks))
            continue;
        gateway->decodes[n] = worker;
        gateway->decode_views[n++] = (struct baton_routing_decode_view){
            .n_requests = worker->n_requests,
            .n_free_blocks = worker->max_blocks - worker->n_blocks,
            .step_s = worker->last_step_s,
            .turn = worker->turn};
    }
    if (!n)
        return NULL;
    return gateway
        ->decodes[baton_routing_decode(world->settings->decode_policy, gateway->decode_views, n)];
}

/* ---- the queue ---- */

/* False when the request must wait for room. */
static bool place(struct sim_world *world, struct sim_request *request)
{
    struct sim_gateway *gateway = &world->gateway;
    bool wants_decode = request->n_output > 1;
    struct sim_prefill *prefill = choose_prefill(world);
    struct sim_decode *decode = NULL;
    if (prefill && wants_decode)
        decode = choose_decode(world, request->n_blocks);
    if (!prefill || (wants_decode && !decode))
        return false;
    sim_request_list_remove(&gateway->queued, request);
    gateway->n_queued_tokens -= request->n_prompt;
    request->prefill = prefill;
    request->sent_ns = world->now_ns;
    prefill->turn = ++gateway->n_turns;
    prefill->n_queued_tokens += request->n_prompt;
    if (decode) {
        decode->turn = ++gateway->n_turns;
        sim_decode_reserve(decode, request);
    }
    sim_prefill_take(prefill, world, request);
    return true;
}

static void pump(struct sim_world *world)
{
    struct sim_request *request;
    while ((request = sim_request_list_first(&world->gateway.queued)) && place(world, request))
        ;
}

static void refuse(struct sim_world *world, struct sim_request *request, const char *why)
{
    struct ld_record *record = request->record;
    (void)snprintf(record->failure, sizeof record->failure, "%s", why);
    record->outcome = LD_FAILED;
    sim_events_add(&world->events, world->now_ns, SIM_END, request, 0);
}

void sim_gateway_queue(struct sim_world *world, struct sim_request *request)
{
    const struct sim_settings *settings = world->settings;
    struct sim_gateway *gateway = &world->gateway;
    request->queued_ns = world->now_ns;
    if (request->n_blocks > settings->kv_blocks) {
        refuse(world, request, "larger than a decode worker's KV cache");
        return;
    }
    if ((int64_t)gateway->queued.n >= settings->max_queued ||
        gateway->n_queued_tokens + request->n_prompt > settings->max_queued_tokens) {
        request->record->n_refused++;
        refuse(world, request, "HTTP 429: queue_full");
        return;
    }
    sim_request_list_push_back(&gateway->queued, request);
    gateway->n_queued_tokens += request->n_prompt;
    pump(world);
}

/* ---- tokens ---- */

int64_t sim_gateway_tell(struct sim_world *world, struct sim_request *request)
{
    int which = (int)(request->record->plan.index % (uint64_t)world->settings->n_gateways);
    int64_t *free_ns = &world->gateway.free_ns[which];
    int64_t begin_ns = *free_ns > world->now_ns ? *free_ns : world->now_ns;
    *free_ns = begin_ns + world->gateway_token_ns;
    int64_t told_ns = *free_ns + sim_ns(world->network.latency_s);
    if (!ld_record_arrival(request->record, told_ns))
        world->failed = true;
    return told_ns;
}

void sim_gateway_first(struct sim_world *world, struct sim_request *request)
{
    request->prefill->n_queued_tokens -= request->n_prompt;
    request->has_first = true;
    request->n_made = 1;
    request->record->first_ns = sim_gateway_tell(world, request);
    if (!request->decode)
        sim_events_add(&world->events, request->record->first_ns, SIM_END, request, 0);
    pump(world);
}

void sim_gateway_ended(struct sim_world *world)
{
    pump(world);
}
