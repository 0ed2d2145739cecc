#include "tools/plan/simulate/sim_prefill.h"

#include <stdlib.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "engine/kernels/attend/kv_block.h"

void sim_prefill_init(struct sim_prefill *worker, struct sim_shared *shared, uint32_t index)
{
    *worker = (struct sim_prefill){.index = index};
    sim_engine_init(&worker->engine, &shared->host, BATON_CORE_PREFILL, worker);
}

void sim_prefill_fini(struct sim_prefill *worker)
{
    free(worker->held);
    free(worker->candidates);
}

/* ---- a pass ---- */

static void plan(struct sim_prefill *worker, const struct sim_shared *shared)
{
    const struct baton_prefill_limits limits = {.max_tokens = shared->settings->chunk,
                                                .block_tokens = BATON_KV_BLOCK_TOKENS,
                                                .max_chunks = BATON_PREFILL_MAX_CHUNKS,
                                                .tokens_per_s = baton_rate_per_s(&worker->rate)};
    for (int i = 0; i < worker->n_held; i++) {
        const struct sim_request *request = worker->held[i];
        worker->candidates[i] = (struct baton_prefill_candidate){
            .n_remaining = (int)(request->n_prompt - request->n_computed),
            .waited_s = baton_seconds(shared->now_ns - request->sent_ns)};
    }
    worker->n_chunks =
        baton_prefill_schedule(worker->candidates, worker->n_held, &limits, worker->chunks);
}

/* Returns the rows of the pass and the positions that they attend to. */
static struct sim_work work_of(const struct sim_prefill *worker, const struct sim_window *window)
{
    struct sim_work work = {.factor = 1}; /* sim_prefill_begin draws the factor */
    for (int i = 0; i < worker->n_chunks; i++) {
        const struct baton_prefill_chunk *chunk = &worker->chunks[i];
        double n = chunk->n_tokens, past = (double)worker->held[chunk->candidate]->n_computed;
        work.n += n;
        work.positions += sim_attended(window, past, n);
    }
    return work;
}

void sim_prefill_begin(struct sim_prefill *worker, struct sim_shared *shared)
{
    plan(worker, shared);
    for (int i = 0; i < worker->n_chunks; i++) {
        struct sim_request *request = worker->held[worker->chunks[i].candidate];
        if (!request->begun_ns)
            request->begun_ns = shared->now_ns;
    }
    struct sim_work work = work_of(worker, &shared->settings->costs.window);
    struct ld_rng rng = sim_rng(shared, LD_STREAM_PASS, worker->index, worker->n_passes++);
    work.factor = sim_spread_draw(&shared->pass_spread, &rng);
    worker->n_rows += (uint64_t)work.n;
    sim_engine_start(&worker->engine, &work, shared->now_ns);
}

/* ---- its end ---- */

/* Sends the part of a request's context that can leave, and all the rest when its prompt is
 * computed. */
static void send_context(struct sim_prefill *worker, struct sim_shared *shared,
                         struct sim_request *request, int64_t n_tokens)
{
    const struct sim_network *network = &shared->network;
    bool overlaps = baton_overlap_applies(network->overlap, request->n_prompt);
    bool is_last = request->n_computed == request->n_prompt;
    if (!request->decode || !(overlaps || is_last))
        return;
    int64_t n = overlaps ? n_tokens : request->n_prompt;
    const struct sim_sent sent = {.n_tokens = n,
                                  .overlaps = overlaps,
                                  .is_last = is_last,
                                  .began_ns = worker->engine.began_ns,
                                  .ended_ns = shared->now_ns};
    int64_t there_ns = sim_network_send(network, &worker->nic, request->nic, &sent);
    if (is_last)
        sim_events_add(&shared->events, there_ns + sim_ns(network->fixed_s), SIM_RECEIVED, request,
                       0);
}

/* Returns the time from the end of a prompt's last pass to the gateway. */
static int64_t after_ns(const struct sim_shared *shared, const struct sim_request *request)
{
    double after_s = shared->settings->costs.after_s;
    return sim_ns(after_s * request->way + shared->network.latency_s);
}

static void advance(struct sim_prefill *worker, struct sim_shared *shared)
{
    double pass_s = baton_seconds(shared->now_ns - worker->engine.began_ns);
    for (int i = 0; i < worker->n_chunks; i++) {
        const struct baton_prefill_chunk *chunk = &worker->chunks[i];
        struct sim_request *request = worker->held[chunk->candidate];
        request->n_computed += chunk->n_tokens;
        send_context(worker, shared, request, chunk->n_tokens);
        if (request->n_computed < request->n_prompt)
            continue;
        request->computed_ns = shared->now_ns;
        sim_events_add(&shared->events, shared->now_ns + after_ns(shared, request), SIM_FIRST,
                       request, 0);
    }
    baton_rate_add(&worker->rate, worker->engine.work.n, pass_s);
}

/* Drops computed prompts; the rest keep their order, which decides the scheduler's ties. */
static void drop_computed(struct sim_prefill *worker)
{
    int n_kept = 0;
    for (int i = 0; i < worker->n_held; i++)
        if (worker->held[i]->n_computed < worker->held[i]->n_prompt)
            worker->held[n_kept++] = worker->held[i];
    worker->n_held = n_kept;
}

void sim_prefill_computed(struct sim_prefill *worker, struct sim_shared *shared)
{
    advance(worker, shared);
    drop_computed(worker);
    if (worker->n_held)
        sim_prefill_begin(worker, shared);
    else
        sim_engine_set_busy(&worker->engine, false, shared->now_ns);
}

/* ---- arrivals ---- */

static bool grow(struct sim_prefill *worker)
{
    size_t n = (size_t)worker->n_held + 1;
    return !BATON_RESERVE(worker->held, worker->cap_held, n) &&
           !BATON_RESERVE(worker->candidates, worker->cap_candidates, n);
}

void sim_prefill_add(struct sim_prefill *worker, struct sim_shared *shared,
                     struct sim_request *request)
{
    if (!grow(worker)) {
        shared->failed = true;
        return;
    }
    worker->held[worker->n_held++] = request;
    if (worker->engine.busy)
        return;
    sim_engine_set_busy(&worker->engine, true, shared->now_ns);
    sim_events_add(&shared->events, shared->now_ns, SIM_BEGIN, &worker->engine, 0);
}
