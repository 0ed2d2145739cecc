#include "tools/plan/simulate/simulation.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "engine/kernels/attend/kv_block.h"
#include "tools/plan/simulate/sim_gateway.h"

/* Not 0, which means "not yet" in records. */
#define BEGIN_NS BATON_SECOND
/* Requests of one moment draw the same time to the queue, so that none overtakes another. */
#define MOMENT_NS (BATON_SECOND / 1000)

struct sim_cluster {
    struct sim_shared shared;
    struct ld_source source;
    struct ld_records records;
    struct sim_request *requests; /* [source.n_requests] */
    size_t n_started, n_over;
    int64_t event_ns; /* time of the queued SIM_DUE event */
    int64_t ended_ns; /* end of the last answer */
    struct sim_gateway gateway;
    struct sim_prefill *prefills;
    struct sim_decode *decodes;
    int n_prefill, n_decode;
};

/* ---- arrivals ---- */

static void start_request(struct sim_cluster *cluster, int64_t due_ns)
{
    const struct sim_costs *costs = &cluster->shared.settings->costs;
    struct ld_record *record = ld_records_add(&cluster->records);
    struct sim_request *request = &cluster->requests[cluster->n_started++];
    if (!record) {
        cluster->shared.failed = true;
        return;
    }
    record->plan = ld_source_take(&cluster->source);
    record->group = cluster->source.name;
    record->start_ns = due_ns;
    ld_record_begin_attempt(record, cluster->shared.now_ns);
    struct ld_rng rng =
        sim_rng(&cluster->shared, LD_STREAM_WAY, 0, (uint64_t)(cluster->shared.now_ns / MOMENT_NS));
    /* The last token is never an input, so it needs no KV. */
    int64_t n_positions = record->plan.prompt_tokens + record->plan.output_tokens - 1;
    *request = (struct sim_request){.record = record,
                                    .n_prompt = record->plan.prompt_tokens,
                                    .n_output = record->plan.output_tokens,
                                    .n_blocks = (n_positions + BATON_KV_BLOCK_TOKENS - 1) /
                                                BATON_KV_BLOCK_TOKENS,
                                    .way = sim_spread_draw(&costs->way, &rng)};
    /* Three messages cross the network before a prompt runs: Reserve, Reserved, PrefillRequest. */
    double before_s = costs->before_s * request->way + 3 * cluster->shared.network.latency_s;
    sim_events_add(&cluster->shared.events, cluster->shared.now_ns + sim_ns(before_s), SIM_QUEUE,
                   request, 0);
}

/* Starts all requests that are due, and adds an event for the next ones. */
static void start_due(struct sim_cluster *cluster)
{
    int64_t due_ns;
    while (!cluster->shared.failed &&
           ld_source_is_due(&cluster->source, cluster->shared.now_ns, &due_ns))
        start_request(cluster, due_ns);
    int64_t next_ns = ld_source_next_ns(&cluster->source, cluster->shared.now_ns);
    /* A closed source returns INT64_MAX: on_end calls again. The event for that time may exist. */
    if (next_ns == cluster->event_ns || next_ns == INT64_MAX ||
        !ld_source_has_more(&cluster->source))
        return;
    cluster->event_ns = next_ns;
    sim_events_add(&cluster->shared.events, next_ns, SIM_DUE, NULL, 0);
}

/* ---- events ---- */

static void start_steps(struct sim_cluster *cluster, struct sim_request *request)
{
    /* As in a fleet, steps need the context and the DecodeStart that follows the first token. */
    if (request->decode && request->has_first && request->is_received)
        sim_decode_start(request->decode, &cluster->shared, request);
}

static void on_first(struct sim_cluster *cluster, struct sim_request *request)
{
    sim_gateway_first(&cluster->gateway, request);
    start_steps(cluster, request);
}

static void on_received(struct sim_cluster *cluster, struct sim_request *request)
{
    request->received_ns = cluster->shared.now_ns;
    request->is_received = true;
    start_steps(cluster, request);
}

static void on_begin(struct sim_cluster *cluster, struct sim_engine *engine)
{
    if (engine->role == BATON_CORE_PREFILL)
        sim_prefill_begin(engine->worker, &cluster->shared);
    else
        sim_decode_begin(engine->worker, &cluster->shared);
}

static void on_computed(struct sim_cluster *cluster, const struct sim_event *event)
{
    struct sim_engine *engine = event->subject;
    if (!sim_engine_ended(engine, event))
        return;
    if (engine->role == BATON_CORE_PREFILL)
        sim_prefill_computed(engine->worker, &cluster->shared);
    else
        sim_decode_computed(engine->worker, &cluster->shared);
}

static void set_stages(const struct sim_request *request)
{
    double *stages_s = request->record->server.stages_s;
    stages_s[BATON_STAGE_queue] = baton_seconds(request->sent_ns - request->queued_ns);
    stages_s[BATON_STAGE_prefill_queue] = baton_seconds(request->begun_ns - request->sent_ns);
    stages_s[BATON_STAGE_prefill_compute] = baton_seconds(request->computed_ns - request->begun_ns);
    stages_s[BATON_STAGE_first_token] =
        baton_seconds(request->record->first_ns - request->computed_ns);
    if (request->decode)
        stages_s[BATON_STAGE_kv_transfer] =
            fmax(baton_seconds(request->received_ns - request->record->first_ns), 0);
}

static void on_end(struct sim_cluster *cluster, struct sim_request *request)
{
    struct ld_record *record = request->record;
    if (record->outcome != LD_FAILED) {
        record->outcome = LD_DONE;
        record->finished_ns = cluster->shared.now_ns;
        set_stages(request);
    }
    record->end_ns = cluster->ended_ns = cluster->shared.now_ns;
    cluster->n_over++;
    cluster->source.n_in_flight--;
    sim_gateway_ended(&cluster->gateway);
    start_due(cluster);
}

static void handle(struct sim_cluster *cluster, const struct sim_event *event)
{
    switch (event->kind) {
    case SIM_DUE:
        start_due(cluster);
        break;
    case SIM_QUEUE:
        sim_gateway_queue(&cluster->gateway, event->subject);
        break;
    case SIM_BEGIN:
        on_begin(cluster, event->subject);
        break;
    case SIM_COMPUTED:
        on_computed(cluster, event);
        break;
    case SIM_FIRST:
        on_first(cluster, event->subject);
        break;
    case SIM_RECEIVED:
        on_received(cluster, event->subject);
        break;
    case SIM_END:
        on_end(cluster, event->subject);
        break;
    }
}

/* ---- the cluster ---- */

static struct sim_shared shared_of(const struct sim_settings *settings)
{
    const struct sim_core_costs *near = sim_costs_near(&settings->costs, settings->n_cores);
    return (struct sim_shared){
        .settings = settings,
        .pass_spread = near->pass.spread,
        .step_spread = near->step.spread,
        .now_ns = BEGIN_NS,
        .network = sim_network_make(&settings->costs, settings->gbps, settings->latency_s,
                                    settings->overlap),
        .relay = {.n_gateways = settings->n_gateways,
                  .token_ns = sim_ns(settings->gateway_token_s),
                  .latency_ns = sim_ns(settings->latency_s)},
        .host = {.mode = settings->cores, .n_cores = settings->n_cores, .costs = &settings->costs}};
}

static enum baton_err init(struct sim_cluster *cluster, const struct sim_settings *settings,
                           const struct sim_layout *layout)
{
    int n_prefill = layout->n_prefill, n_decode = layout->n_decode;
    *cluster = (struct sim_cluster){.shared = shared_of(settings),
                                    .source = settings->load,
                                    .n_prefill = n_prefill,
                                    .n_decode = n_decode};
    cluster->shared.host.events = &cluster->shared.events;
    cluster->source.begin_ns = BEGIN_NS;
    cluster->source.stop_ns = INT64_MAX;
    cluster->requests = calloc((size_t)settings->load.n_requests, sizeof *cluster->requests);
    cluster->prefills = calloc((size_t)n_prefill, sizeof *cluster->prefills);
    cluster->decodes = calloc((size_t)n_decode, sizeof *cluster->decodes);
    if (!cluster->requests || !cluster->prefills || !cluster->decodes)
        return BATON_NO_MEMORY;
    for (int i = 0; i < n_prefill; i++)
        sim_prefill_init(&cluster->prefills[i], &cluster->shared, (uint32_t)i);
    for (int i = 0; i < n_decode; i++)
        sim_decode_init(&cluster->decodes[i], &cluster->shared, (uint32_t)i);
    cluster->gateway = (struct sim_gateway){.shared = &cluster->shared,
                                            .prefills = cluster->prefills,
                                            .decodes = cluster->decodes,
                                            .n_prefill = n_prefill,
                                            .n_decode = n_decode};
    enum baton_err err = sim_gateway_init(&cluster->gateway);
    return err ? err : sim_relay_init(&cluster->shared.relay);
}

static void fini(struct sim_cluster *cluster)
{
    for (int i = 0; cluster->prefills && i < cluster->n_prefill; i++)
        sim_prefill_fini(&cluster->prefills[i]);
    for (int i = 0; cluster->decodes && i < cluster->n_decode; i++)
        sim_decode_fini(&cluster->decodes[i]);
    sim_gateway_fini(&cluster->gateway);
    sim_relay_fini(&cluster->shared.relay);
    sim_events_fini(&cluster->shared.events);
    ld_records_fini(&cluster->records);
    free(cluster->requests);
    free(cluster->prefills);
    free(cluster->decodes);
}

static void run(struct sim_cluster *cluster, struct sim_results *results)
{
    struct sim_event event;
    start_due(cluster);
    while (!cluster->shared.failed && sim_events_take(&cluster->shared.events, &event)) {
        cluster->shared.now_ns = event.at_ns;
        handle(cluster, &event);
        results->n_events++;
    }
    cluster->shared.failed |= cluster->shared.events.failed || cluster->shared.relay.failed;
}

/* ---- results ---- */

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static void add_up_work(const struct sim_cluster *cluster, struct sim_results *results)
{
    double prefill_s = 0, decode_s = 0, rows = 0, passes = 0, tokens = 0, steps = 0, nic_s = 0;
    double window_s = results->simulated_s;
    for (int i = 0; i < cluster->n_prefill; i++) {
        prefill_s += cluster->prefills[i].engine.busy_s;
        passes += (double)cluster->prefills[i].n_passes;
        rows += (double)cluster->prefills[i].n_rows;
    }
    for (int i = 0; i < cluster->n_decode; i++) {
        decode_s += cluster->decodes[i].engine.busy_s;
        steps += (double)cluster->decodes[i].n_steps;
        tokens += (double)cluster->decodes[i].n_tokens;
        nic_s = fmax(nic_s, cluster->decodes[i].nic.busy_s);
    }
    results->prefill_busy = ratio(prefill_s, window_s * cluster->n_prefill);
    results->decode_busy = ratio(decode_s, window_s * cluster->n_decode);
    results->mean_rows = ratio(rows, passes);
    results->mean_batch = ratio(tokens, steps);
    results->nic_busy = ratio(nic_s, window_s);
}

/* Checks that every request has ended when no event is left. */
static enum baton_err check_all_over(const struct sim_cluster *cluster, struct baton_why *why)
{
    if (cluster->shared.failed)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for the simulated requests");
    if (cluster->n_over == cluster->n_started && !ld_source_has_more(&cluster->source))
        return BATON_OK;
    return baton_fail(why, BATON_INTERNAL, "%zu of %zu simulated requests never ended",
                      cluster->n_started - cluster->n_over, cluster->n_started);
}

enum baton_err sim_run(const struct sim_settings *settings, const struct sim_layout *layout,
                       struct sim_results *results, struct baton_why *why)
{
    struct sim_cluster cluster;
    struct sim_results made = {.layout = *layout};
    int64_t began_ns = baton_now_ns();
    enum baton_err err = init(&cluster, settings, layout);
    if (!err) {
        run(&cluster, &made);
        err = check_all_over(&cluster, why);
    }
    if (!err) {
        made.simulated_s = baton_seconds(cluster.ended_ns - BEGIN_NS);
        add_up_work(&cluster, &made);
        err = ld_figures_make(&cluster.records, cluster.source.name, BEGIN_NS, cluster.ended_ns,
                              &settings->slo, &made.figures);
    }
    fini(&cluster);
    made.wall_s = baton_seconds(baton_now_ns() - began_ns);
    if (!err)
        *results = made;
    return err;
}
