#include "tools/plan/simulate/simulation.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/engine/kernels/kv_block.h"
#include "tools/plan/simulate/world.h"

/* The clock's zero means "not yet" in records. */
#define BEGIN_NS BATON_SECOND
/* Requests that come within a moment find the machine in the same state: none overtakes another. */
#define MOMENT_NS (BATON_SECOND / 1000)

/* ---- arrivals ---- */

static void start_request(struct sim_world *world, int64_t due_ns)
{
    const struct sim_costs *costs = &world->settings->costs;
    struct ld_record *record = ld_records_add(&world->records);
    struct sim_request *request = &world->requests[world->n_started++];
    if (!record) {
        world->failed = true;
        return;
    }
    record->plan = ld_source_take(&world->source);
    record->group = world->source.name;
    record->start_ns = due_ns;
    ld_record_begin_attempt(record, world->now_ns);
    struct ld_rng rng =
        sim_world_rng(world, LD_STREAM_WAY, 0, (uint64_t)(world->now_ns / MOMENT_NS));
    int64_t n_positions = record->plan.prompt_tokens + record->plan.output_tokens - 1;
    *request = (struct sim_request){.record = record,
                                    .n_prompt = record->plan.prompt_tokens,
                                    .n_output = record->plan.output_tokens,
                                    .n_blocks = (n_positions + BATON_KV_BLOCK_TOKENS - 1) /
                                                BATON_KV_BLOCK_TOKENS,
                                    .way = sim_spread_draw(&costs->way, &rng)};
    double before_s = costs->before_s * request->way + 3 * world->network.latency_s;
    sim_events_add(&world->events, world->now_ns + sim_ns(before_s), SIM_QUEUE, request, 0);
}

/* Asks the source for all that is due, and when to ask again. */
static void ask(struct sim_world *world)
{
    int64_t due_ns;
    while (!world->failed && ld_source_is_due(&world->source, world->now_ns, &due_ns))
        start_request(world, due_ns);
    int64_t next_ns = ld_source_next_ns(&world->source, world->now_ns);
    if (next_ns == world->ask_ns || next_ns == INT64_MAX || !ld_source_has_more(&world->source))
        return;
    world->ask_ns = next_ns;
    sim_events_add(&world->events, next_ns, SIM_ASK, NULL, 0);
}

/* ---- what happens ---- */

static void start_steps(struct sim_world *world, struct sim_request *request)
{
    if (request->decode && request->has_first && request->is_placed)
        sim_decode_start(request->decode, world, request);
}

static void on_first(struct sim_world *world, struct sim_request *request)
{
    sim_gateway_first(world, request);
    start_steps(world, request);
}

static void on_placed(struct sim_world *world, struct sim_request *request)
{
    request->placed_ns = world->now_ns;
    request->is_placed = true;
    start_steps(world, request);
}

static void on_begin(struct sim_world *world, struct sim_engine *engine)
{
    if (engine->role == BATON_CORE_PREFILL)
        sim_prefill_begin(engine->worker, world);
    else
        sim_decode_begin(engine->worker, world);
}

static void on_computed(struct sim_world *world, const struct sim_event *event)
{
    struct sim_engine *engine = event->subject;
    if (!sim_engine_ended(engine, event))
        return;
    if (engine->role == BATON_CORE_PREFILL)
        sim_prefill_computed(engine->worker, world);
    else
        sim_decode_computed(engine->worker, world);
}

static void note_stages(const struct sim_request *request)
{
    double *stages_s = request->record->server.stages_s;
    stages_s[BATON_STAGE_queue] = baton_seconds(request->sent_ns - request->queued_ns);
    stages_s[BATON_STAGE_prefill_queue] = baton_seconds(request->begun_ns - request->sent_ns);
    stages_s[BATON_STAGE_prefill_compute] = baton_seconds(request->computed_ns - request->begun_ns);
    stages_s[BATON_STAGE_first_token] =
        baton_seconds(request->record->first_ns - request->computed_ns);
    if (request->decode)
        stages_s[BATON_STAGE_kv_transfer] =
            baton_seconds(request->placed_ns - request->computed_ns);
}

static void on_end(struct sim_world *world, struct sim_request *request)
{
    struct ld_record *record = request->record;
    if (record->outcome != LD_FAILED) {
        record->outcome = LD_DONE;
        record->finished_ns = world->now_ns;
        note_stages(request);
    }
    record->end_ns = world->ended_ns = world->now_ns;
    world->n_over++;
    world->source.n_in_flight--;
    sim_gateway_ended(world);
    ask(world);
}

static void handle(struct sim_world *world, const struct sim_event *event)
{
    switch (event->kind) {
    case SIM_ASK:
        ask(world);
        break;
    case SIM_QUEUE:
        sim_gateway_queue(world, event->subject);
        break;
    case SIM_BEGIN:
        on_begin(world, event->subject);
        break;
    case SIM_COMPUTED:
        on_computed(world, event);
        break;
    case SIM_FIRST:
        on_first(world, event->subject);
        break;
    case SIM_PLACED:
        on_placed(world, event->subject);
        break;
    case SIM_END:
        on_end(world, event->subject);
        break;
    }
}

/* ---- a world ---- */

static enum baton_err init(struct sim_world *world, const struct sim_settings *settings,
                           const struct sim_layout *layout)
{
    const struct sim_core_costs *near = sim_costs_near(&settings->costs, settings->n_cores);
    *world = (struct sim_world){.settings = settings,
                                .pass_spread = near->pass.spread,
                                .step_spread = near->step.spread,
                                .network = sim_network_make(&settings->costs, settings->gbps,
                                                            settings->latency_s, settings->overlap),
                                .gateway_token_ns = sim_ns(settings->gateway_token_s),
                                .now_ns = BEGIN_NS,
                                .source = settings->load,
                                .n_prefill = layout->n_prefill,
                                .n_decode = layout->n_decode};
    world->source.begin_ns = BEGIN_NS;
    world->source.stop_ns = INT64_MAX;
    world->host = (struct sim_host){.mode = settings->cores,
                                    .n_cores = settings->n_cores,
                                    .costs = &settings->costs,
                                    .events = &world->events};
    world->requests = calloc((size_t)settings->load.n_requests, sizeof *world->requests);
    world->prefills = calloc((size_t)layout->n_prefill, sizeof *world->prefills);
    world->decodes = calloc((size_t)layout->n_decode, sizeof *world->decodes);
    if (!world->requests || !world->prefills || !world->decodes)
        return BATON_NO_MEMORY;
    for (int i = 0; i < layout->n_prefill; i++)
        sim_prefill_init(&world->prefills[i], world, (uint32_t)i);
    for (int i = 0; i < layout->n_decode; i++)
        sim_decode_init(&world->decodes[i], world, (uint32_t)i);
    return sim_gateway_init(&world->gateway, settings->n_gateways, layout->n_prefill,
                            layout->n_decode);
}

static void fini(struct sim_world *world)
{
    for (int i = 0; world->prefills && i < world->n_prefill; i++)
        sim_prefill_fini(&world->prefills[i]);
    for (int i = 0; world->decodes && i < world->n_decode; i++)
        sim_decode_fini(&world->decodes[i]);
    sim_gateway_fini(&world->gateway);
    sim_events_fini(&world->events);
    ld_records_fini(&world->records);
    free(world->requests);
    free(world->prefills);
    free(world->decodes);
}

static void run(struct sim_world *world, struct sim_results *results)
{
    struct sim_event event;
    ask(world);
    while (!world->failed && sim_events_take(&world->events, &event)) {
        world->now_ns = event.at_ns;
        handle(world, &event);
        results->n_events++;
    }
    world->failed |= world->events.failed;
}

/* ---- results ---- */

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static void add_up_work(const struct sim_world *world, struct sim_results *results)
{
    double prefill_s = 0, decode_s = 0, rows = 0, passes = 0, tokens = 0, steps = 0, nic_s = 0;
    double window_s = results->simulated_s;
    for (int i = 0; i < world->n_prefill; i++) {
        prefill_s += world->prefills[i].engine.busy_s;
        passes += (double)world->prefills[i].n_passes;
        rows += (double)world->prefills[i].n_rows;
    }
    for (int i = 0; i < world->n_decode; i++) {
        decode_s += world->decodes[i].engine.busy_s;
        steps += (double)world->decodes[i].n_steps;
        tokens += (double)world->decodes[i].n_tokens;
        nic_s = fmax(nic_s, world->decodes[i].nic.busy_s);
    }
    results->prefill_busy = ratio(prefill_s, window_s * world->n_prefill);
    results->decode_busy = ratio(decode_s, window_s * world->n_decode);
    results->mean_rows = ratio(rows, passes);
    results->mean_batch = ratio(tokens, steps);
    results->nic_busy = ratio(nic_s, window_s);
}

/* A queue that is let run dry has let everybody go. */
static enum baton_err check_all_over(const struct sim_world *world, struct baton_why *why)
{
    if (world->failed)
        return baton_fail(why, BATON_NO_MEMORY, "no memory for the simulated requests");
    if (world->n_over == world->n_started && !ld_source_has_more(&world->source))
        return BATON_OK;
    return baton_fail(why, BATON_INTERNAL, "%zu of %zu simulated requests never ended",
                      world->n_started - world->n_over, world->n_started);
}

enum baton_err sim_run(const struct sim_settings *settings, const struct sim_layout *layout,
                       struct sim_results *results, struct baton_why *why)
{
    struct sim_world world;
    struct sim_results made = {.layout = *layout};
    int64_t began_ns = baton_now_ns();
    enum baton_err err = init(&world, settings, layout);
    if (!err) {
        run(&world, &made);
        err = check_all_over(&world, why);
    }
    if (!err) {
        made.simulated_s = baton_seconds(world.ended_ns - BEGIN_NS);
        add_up_work(&world, &made);
        err = ld_figures_make(&world.records, world.source.name, BEGIN_NS, world.ended_ns,
                              &settings->slo, &made.figures);
    }
    fini(&world);
    made.wall_s = baton_seconds(baton_now_ns() - began_ns);
    if (!err)
        *results = made;
    return err;
}
