#include "tools/load/run.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tools/load/http/client_host.h"
#include "tools/load/report/progress.h"

enum { WARM_UP_CONCURRENCY = 8, SETTLE_S = 60, TITLE_BYTES = 48 };

static int64_t ns_of(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

/* ---- sources ---- */

/* Returns a seed for each run and its warm-up, so that none finds the prompts of another in a
 * cache. */
static uint64_t seed_of(const struct ld_command *command, int number, int part)
{
    return command->seed + 4 * (uint64_t)number + (uint64_t)part;
}

static struct ld_source source_of(const struct ld_command *command, const char *name, uint64_t seed)
{
    struct ld_source source = {.name = name,
                               .workload = command->workload,
                               .arrivals = LD_CLOSED,
                               .concurrency = 1,
                               .stop_ns = INT64_MAX,
                               .max_in_flight = (int)command->options->max_in_flight,
                               .max_retries = (int)command->options->retry};
    source.workload.seed = seed;
    return source;
}

static void add_requests(const struct ld_stand *stand, const struct ld_run *run,
                         struct ld_load *load)
{
    const struct ld_command *command = stand->command;
    struct ld_source source = source_of(command, "requests", seed_of(command, run->number, 0));
    source.n_requests = command->n_requests;
    source.rate_per_s = command->options->rate;
    source.trace_speed = command->options->trace_speed;
    if (run->concurrency)
        source.concurrency = run->concurrency;
    else
        source.arrivals = command->workload.trace ? LD_TRACE : LD_POISSON;
    if (command->duration_s > 0) {
        source.stop_ns = baton_now_ns() + ns_of(command->duration_s);
        load->cut_ns = source.stop_ns + ns_of(command->options->drain_s);
    }
    load->sources[load->n_sources++] = source;
}

static void add_readers(const struct ld_stand *stand, const struct ld_run *run,
                        struct ld_load *load)
{
    const struct ld_command *command = stand->command;
    struct ld_source readers = source_of(command, "readers", seed_of(command, run->number, 0));
    struct ld_source intruders = source_of(command, "intruders", seed_of(command, run->number, 1));
    readers.concurrency = (int)command->options->streams;
    intruders.arrivals = LD_PERIODIC;
    intruders.rate_per_s = 1 / command->intrude_every_s;
    /* Until all readers stream, nobody knows when the intruders begin. */
    intruders.begin_ns = INT64_MAX;
    intruders.workload.prompt = command->intruder_prompt;
    intruders.workload.output = command->intruder_output;
    /* Nothing but their prompts should disturb the readers. */
    intruders.workload.cancel_rate = intruders.workload.slow_rate = 0;
    /* The lines of a prompt file are the readers'. */
    intruders.workload.texts = NULL;
    load->sources[load->n_sources++] = readers;
    load->sources[load->n_sources++] = intruders;
}

/* ---- interference ---- */

static bool all_stream(const struct ld_load *load)
{
    size_t n = 0;
    for (struct ld_call *call = ld_call_list_first(&load->running); call;
         call = ld_call_list_next(&load->running, call))
        n += call->record->n_arrivals > 0;
    return n == (size_t)load->sources[0].concurrency;
}

static enum baton_err on_turn(struct ld_load *load, int64_t now_ns)
{
    struct ld_run *run = load->arg;
    struct ld_source *readers = &load->sources[0], *intruders = &load->sources[1];
    if (intruders->begin_ns != INT64_MAX)
        return BATON_OK;
    if (!all_stream(load))
        return now_ns - load->began_ns > SETTLE_S * BATON_SECOND ? BATON_TIMEOUT : BATON_OK;
    int64_t phase_ns = run->to_ns; /* to_ns holds the length of a phase until the window is known */
    run->began_ns = now_ns;
    run->intruded_ns = intruders->begin_ns = now_ns + phase_ns;
    run->to_ns = readers->stop_ns = intruders->stop_ns = load->cut_ns = now_ns + 2 * phase_ns;
    return BATON_OK;
}

/* ---- running ---- */

static enum baton_err drive(struct ld_stand *stand, struct ld_load *load, const char *title,
                            struct baton_why *why)
{
    struct ld_progress progress;
    load->loop = stand->loop;
    load->setting = stand->setting;
    load->timeout_ns = ns_of(stand->command->options->timeout_s);
    load->stopping = stand->stopping;
    stand->load = load;
    ld_progress_start(&progress, load, title, stand->command->options->quiet);
    enum baton_err err = ld_load_run(load, why);
    ld_progress_stop(&progress);
    /* One more turn closes the timer of the progress line. */
    (void)uv_run(load->loop, UV_RUN_NOWAIT);
    stand->load = NULL;
    return err;
}

static enum baton_err warm_up(struct ld_stand *stand, const struct ld_run *run,
                              struct baton_why *why)
{
    const struct ld_command *command = stand->command;
    int concurrency = run->concurrency ? run->concurrency : WARM_UP_CONCURRENCY;
    struct ld_records records = {0};
    struct ld_load load = {.records = &records, .cut_ns = INT64_MAX, .n_sources = 1};
    load.sources[0] = source_of(command, "warm-up", seed_of(command, run->number, 2));
    load.sources[0].n_requests = command->options->warmup;
    load.sources[0].concurrency =
        command->options->warmup < concurrency ? (int)command->options->warmup : concurrency;
    enum baton_err err = drive(stand, &load, "warm-up", why);
    ld_records_fini(&records);
    return err;
}

static void record_load(struct ld_run *run, const struct ld_load *load)
{
    for (int i = 0; i < load->n_sources; i++) {
        run->n_held += load->sources[i].n_held;
        run->n_unsent += load->sources[i].n_due - load->sources[i].n_started;
    }
    if (load->on_turn && run->intruded_ns) {
        run->to_ns = load->ended_ns < run->to_ns ? load->ended_ns : run->to_ns;
        return;
    }
    run->began_ns = load->began_ns;
    int64_t stop_ns = load->sources[0].stop_ns;
    run->to_ns = stop_ns < load->ended_ns ? stop_ns : load->ended_ns;
}

static enum baton_err measure(struct ld_stand *stand, struct ld_run *run, struct baton_why *why)
{
    const struct ld_command *command = stand->command;
    struct ld_load load = {.records = &run->records, .cut_ns = INT64_MAX, .run = run->number};
    char title[TITLE_BYTES];
    if (ld_command_intrudes(command)) {
        add_readers(stand, run, &load);
        load.on_turn = on_turn;
        load.arg = run;
        run->to_ns = ns_of(command->options->baseline_s);
        (void)snprintf(title, sizeof title, "%d readers", load.sources[0].concurrency);
    } else {
        add_requests(stand, run, &load);
        (void)snprintf(title, sizeof title, run->concurrency ? "concurrency %d" : "open loop",
                       run->concurrency);
    }
    enum baton_err err = drive(stand, &load, title, why);
    if (err == BATON_TIMEOUT)
        return baton_fail(why, err, "--streams: %d readers did not all stream within %d s",
                          load.sources[0].concurrency, SETTLE_S);
    record_load(run, &load);
    return err;
}

static enum baton_err add_up(const struct ld_command *command, struct ld_run *run)
{
    const struct ld_records *records = &run->records;
    int64_t from_ns = run->began_ns, to_ns = run->to_ns;
    if (!ld_command_intrudes(command))
        return ld_figures_make(records, "requests", from_ns, to_ns, &command->slo, &run->figures);
    enum baton_err err =
        ld_figures_make(records, "readers", from_ns, to_ns, &command->slo, &run->figures);
    if (!err)
        err = ld_figures_make(records, "intruders", from_ns, to_ns, &command->slo, &run->intruders);
    if (!err)
        err = ld_phase_make(records, "readers", from_ns, run->intruded_ns, &run->alone);
    if (!err)
        err = ld_phase_make(records, "readers", run->intruded_ns, to_ns, &run->intruded);
    return err;
}

enum baton_err ld_run(struct ld_stand *stand, int number, int concurrency, struct ld_run *run,
                      struct baton_why *why)
{
    struct ld_setting *setting = stand->setting;
    enum baton_err err = BATON_OK;
    *run =
        (struct ld_run){.number = number, .concurrency = concurrency, .realtime = stand->realtime};
    if (stand->command->options->warmup)
        err = warm_up(stand, run, why);
    double cpu_s = ld_host_cpu_s();
    int64_t began_ns = baton_now_ns();
    /* Connections that stay open from an earlier run count for this one too. */
    setting->n_reconnects = setting->pool->n_connects = 0;
    setting->pool->max_open = setting->pool->n_open;
    if (!err)
        err = measure(stand, run, why);
    run->wall_s = baton_seconds(baton_now_ns() - began_ns);
    run->cpu_s = ld_host_cpu_s() - cpu_s;
    run->n_connects = setting->pool->n_connects;
    run->n_reconnects = setting->n_reconnects;
    run->max_open = setting->pool->max_open;
    if (!err)
        err = add_up(stand->command, run);
    if (err)
        ld_run_fini(run);
    return err;
}

void ld_run_fini(struct ld_run *run)
{
    ld_records_fini(&run->records);
}
