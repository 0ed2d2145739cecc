#include "tools/plan/simulate/sim_decode.h"

#include <stdlib.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/policy/reservations.h"

void sim_decode_init(struct sim_decode *worker, struct sim_shared *shared, uint32_t index)
{
    *worker = (struct sim_decode){.index = index, .max_blocks = shared->settings->kv_blocks};
    sim_engine_init(&worker->engine, &shared->host, BATON_CORE_DECODE, worker);
}

void sim_decode_fini(struct sim_decode *worker)
{
    free(worker->sequences);
}

bool sim_decode_has_capacity(const struct sim_decode *worker, const struct sim_shared *shared,
                             int64_t n_blocks)
{
    return worker->n_requests < baton_reservations_max(shared->settings->max_batch) &&
           worker->max_blocks - worker->n_blocks >= n_blocks;
}

void sim_decode_reserve(struct sim_decode *worker, struct sim_request *request)
{
    request->decode = worker;
    request->nic = &worker->nic;
    worker->n_requests++;
    worker->n_blocks += request->n_blocks;
}

/* ---- a step ---- */

static struct sim_work work_of(const struct sim_decode *worker, const struct sim_window *window)
{
    struct sim_work work = {.n = worker->n_step};
    for (int i = 0; i < worker->n_step; i++)
        work.positions += sim_seen(
            window, (double)(worker->sequences[i]->n_prompt + worker->sequences[i]->n_made));
    return work;
}

static void mark_begun(const struct sim_decode *worker, int64_t now_ns)
{
    for (int i = 0; i < worker->n_step; i++)
        if (!worker->sequences[i]->stepped_ns)
            worker->sequences[i]->stepped_ns = now_ns;
}

void sim_decode_begin(struct sim_decode *worker, struct sim_shared *shared)
{
    int max_batch = shared->settings->max_batch;
    worker->n_step = worker->n < max_batch ? worker->n : max_batch;
    mark_begun(worker, shared->now_ns);
    struct sim_work work = work_of(worker, &shared->settings->costs.window);
    /* Numbers are a function of seed, worker and count, so no worker changes another one's
     * draws. */
    struct ld_rng rng = sim_rng(shared, LD_STREAM_STEP, worker->index, worker->n_steps++);
    work.factor = sim_spread_draw(&shared->step_spread, &rng);
    worker->n_tokens += (uint64_t)worker->n_step;
    sim_engine_start(&worker->engine, &work, shared->now_ns);
}

/* ---- its end ---- */

static void leave(struct sim_decode *worker, struct sim_shared *shared, struct sim_request *request,
                  int64_t arrived_ns)
{
    worker->n_requests--;
    worker->n_blocks -= request->n_blocks;
    double *stages_s = request->record->server.stages_s;
    stages_s[BATON_STAGE_decode_queue] = baton_seconds(request->stepped_ns - request->ready_ns);
    stages_s[BATON_STAGE_decode] = baton_seconds(shared->now_ns - request->stepped_ns);
    sim_events_add(&shared->events, arrived_ns, SIM_END, request, 0);
}

/* Adds a token to every sequence of the step. Finished sequences leave, and the rest keep their
 * order. */
void sim_decode_computed(struct sim_decode *worker, struct sim_shared *shared)
{
    int n_kept = 0;
    worker->last_step_s = baton_seconds(shared->now_ns - worker->engine.began_ns);
    for (int i = 0; i < worker->n; i++) {
        struct sim_request *request = worker->sequences[i];
        if (i < worker->n_step) { /* later ones came during the step, or exceed the batch */
            int64_t arrived_ns = sim_relay_token(&shared->relay, request->record, shared->now_ns);
            if (++request->n_made == request->n_output) {
                leave(worker, shared, request, arrived_ns);
                continue;
            }
        }
        worker->sequences[n_kept++] = request;
    }
    worker->n = n_kept;
    if (worker->n)
        sim_decode_begin(worker, shared);
    else
        sim_engine_set_busy(&worker->engine, false, shared->now_ns);
}

/* ---- arrivals ---- */

void sim_decode_start(struct sim_decode *worker, struct sim_shared *shared,
                      struct sim_request *request)
{
    if (BATON_RESERVE(worker->sequences, worker->cap, (size_t)worker->n + 1)) {
        shared->failed = true;
        return;
    }
    request->ready_ns = shared->now_ns;
    worker->sequences[worker->n++] = request;
    if (worker->engine.busy)
        return;
    /* The step begins by an event of this moment, after those that are already queued, so that
     * requests which start together share it. */
    sim_engine_set_busy(&worker->engine, true, shared->now_ns);
    sim_events_add(&shared->events, shared->now_ns, SIM_BEGIN, &worker->engine, 0);
}
