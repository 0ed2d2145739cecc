#include "tools/plan/calibrate/probe_url.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "tools/load/http/client.h"
#include "tools/plan/simulate/sim_engine.h"

/* Numbers of requests in a run, and of rounds in a measurement. */
enum { N_PROMPTS = 6, N_WARM_UPS = 1, N_ALONE = 4, N_BESIDE = 32, N_READERS = 4, N_ROUNDS = 3 };

/* Tokens of an answer: two gaps after a prompt, or enough steps for a median. */
enum { PROMPT_OUTPUT = 4, STEP_OUTPUT = 48, BESIDE_OUTPUT = 64, READER_OUTPUT = 400 };

/* MIN_SHARED: steps that all of a batch must share; N_TEXT: bytes of a number. */
enum { MIN_SHARED = 8, N_TEXT = 24 };

/* Duration of each phase when one role is measured beside the other. */
#define BESIDE_S 1.0

struct url_probe {
    struct sim_probe probe;
    uint64_t seed; /* of the next run, so that no run repeats prompts */
};

/* A load with the options of `baton-load`. */
struct load {
    char concurrency[N_TEXT], prompt[N_TEXT], output[N_TEXT], every[N_TEXT];
    struct ld_options options;
};

static void set_number(char text[N_TEXT], int64_t number)
{
    (void)snprintf(text, N_TEXT, "%lld", (long long)number);
}

static void load_init(struct load *load, struct url_probe *url, int concurrency, int n_prompt,
                      int n_output)
{
    set_number(load->concurrency, concurrency);
    set_number(load->prompt, n_prompt);
    set_number(load->output, n_output);
    (void)snprintf(load->every, N_TEXT, "1s");
    load->options = (struct ld_options){.url = url->probe.options->url,
                                        .api = "native",
                                        /* Every prompt must be computed, not found in a prefix
                                         * cache. */
                                        .extra = "{\"cache_prompt\":false}",
                                        .concurrency = load->concurrency,
                                        .timeout_s = 600,
                                        .drain_s = 30,
                                        .max_in_flight = 2000,
                                        .requests = concurrency,
                                        .prompt_tokens = load->prompt,
                                        .output_tokens = load->output,
                                        .vocab = "16-2000",
                                        .prefixes = 1,
                                        .trace_speed = 1,
                                        .trace_scale = 1,
                                        .seed = (int64_t)++url->seed,
                                        .ignore_eos = true,
                                        .timeline = true,
                                        .slow_bytes_per_s = 200,
                                        .realtime = true,
                                        .quiet = true,
                                        .intrude_prompt_tokens = load->prompt,
                                        .intrude_output_tokens = "1",
                                        .intrude_every = load->every,
                                        .baseline_s = BESIDE_S};
}

/* Checks that no request failed. Readers may be cut when their phases are over. */
static enum baton_err check(const struct ld_figures *figures, struct baton_why *why)
{
    const uint64_t *n = figures->n_by_outcome;
    if (!n[LD_FAILED] && (n[LD_DONE] || n[LD_CUT]))
        return BATON_OK;
    return baton_fail(why, BATON_PEER, "--url: %llu of %llu requests failed, as with: %s",
                      (unsigned long long)n[LD_FAILED], (unsigned long long)figures->n_sent,
                      figures->n_failures ? figures->failures[0].text : "no answer");
}

/* Runs once. After success the caller ends the run with ld_run_fini. */
static enum baton_err run_load(const struct load *load, struct ld_run *run, struct baton_why *why)
{
    struct ld_command command;
    struct ld_client *client = calloc(1, sizeof *client);
    if (!client)
        return BATON_NO_MEMORY;
    enum baton_err err = ld_command_init(&command, &load->options, why);
    if (!err) {
        int concurrency = command.concurrency.n ? command.concurrency.values[0] : 0;
        err = ld_client_open(client, &command, why);
        if (!err) {
            err = ld_run(&client->stand, 0, concurrency, run, why);
            ld_client_close(client);
        }
        ld_command_fini(&command);
    }
    free(client);
    if (!err && (err = check(&run->figures, why)) != BATON_OK)
        ld_run_fini(run);
    return err;
}

/* ---- prompts ---- */

static double way_s(const struct ld_record *record)
{
    return ld_record_ttft_s(record) - record->server.stages_s[BATON_STAGE_prefill_compute];
}

/* Sums the stages of a first token that come before its prompt is run. */
static double before_s(const struct ld_figures *figures)
{
    static const enum baton_stage stages[] = {BATON_STAGE_parse, BATON_STAGE_tokenize,
                                              BATON_STAGE_queue, BATON_STAGE_prefill_queue};
    double seconds = 0;
    for (size_t i = 0; i < BATON_N_OF(stages); i++)
        if (figures->stages[stages[i]].n)
            seconds += figures->stages[stages[i]].p50;
    return seconds;
}

static enum baton_err add_prompts(struct url_probe *url, const struct ld_run *run,
                                  struct sim_prompt_point *point, struct baton_why *why)
{
    const struct ld_figures *figures = &run->figures;
    const struct ld_summary *compute = &figures->stages[BATON_STAGE_prefill_compute];
    if (!compute->n)
        return baton_fail(why, BATON_PEER, "--url: the server reports no stages; is it Baton?");
    point->compute_s = compute->p50;
    point->before_s = before_s(figures);
    point->after_s = fmax(figures->times[LD_TIME_ttft].p50 - point->before_s - point->compute_s, 0);
    point->second_s = figures->times[LD_TIME_first_gap].p50;
    double way_p50_s = point->before_s + point->after_s;
    for (size_t i = 0; i < run->records.n; i++) {
        const struct ld_record *record = run->records.items[i];
        ld_samples_add(&url->probe.pass,
                       record->server.stages_s[BATON_STAGE_prefill_compute] / compute->p50);
        ld_samples_add(&url->probe.way, way_s(record) / way_p50_s);
    }
    return BATON_OK;
}

static enum baton_err measure_prompt(struct sim_probe *probe, int n_tokens,
                                     struct sim_prompt_point *point, struct baton_why *why)
{
    struct url_probe *url = (struct url_probe *)probe;
    struct load load;
    struct ld_run run;
    load_init(&load, url, 1, n_tokens, PROMPT_OUTPUT);
    load.options.requests = N_PROMPTS;
    load.options.warmup = N_WARM_UPS;
    *point = (struct sim_prompt_point){.n_tokens = n_tokens};
    enum baton_err err = run_load(&load, &run, why);
    if (err)
        return err;
    err = add_prompts(url, &run, point, why);
    ld_run_fini(&run);
    return err;
}

/* ---- steps ---- */

/* Gaps between steps that all sequences of a batch shared, and their contexts' lengths then. */
struct gaps {
    int64_t from_ns, to_ns;
    struct ld_samples seconds;
    double positions; /* sum */
};

/* Returns the time from the last sequence's first token to the first one's end. Requests that come
 * one after the other are each alone all the time. */
static struct gaps shared_window(const struct ld_records *records, int n)
{
    struct gaps gaps = {.from_ns = 0, .to_ns = INT64_MAX};
    for (size_t i = 0; i < records->n && n > 1; i++) {
        const struct ld_record *record = records->items[i];
        if (record->first_ns > gaps.from_ns)
            gaps.from_ns = record->first_ns;
        if (record->finished_ns < gaps.to_ns)
            gaps.to_ns = record->finished_ns;
    }
    return gaps;
}

/* Adds the gaps from the second on: the first one contains the hand-off. */
static void add_gaps(const struct ld_record *record, int n_prompt, struct gaps *gaps)
{
    for (int64_t i = 2; i < record->n_arrivals; i++) {
        int64_t begin_ns = record->arrivals_ns[i - 1], end_ns = record->arrivals_ns[i];
        if (begin_ns < gaps->from_ns || end_ns > gaps->to_ns)
            continue;
        ld_samples_add(&gaps->seconds, baton_seconds(end_ns - begin_ns));
        gaps->positions += (double)(n_prompt + i);
    }
}

/* Adds the measured steps. The mean counts, because on a busy machine tokens come in bursts, whose
 * median says nothing. False when all sequences shared too few steps. */
static bool add_steps(struct url_probe *url, const struct ld_run *run, int n_prompt,
                      struct sim_step_point *point)
{
    struct gaps gaps = shared_window(&run->records, (int)point->n);
    for (size_t i = 0; i < run->records.n; i++)
        add_gaps(run->records.items[i], n_prompt, &gaps);
    struct ld_summary seconds = ld_samples_summarize(&gaps.seconds);
    bool enough = seconds.n >= MIN_SHARED * (size_t)point->n;
    point->step_s = seconds.mean;
    point->positions = gaps.positions / (double)seconds.n;
    for (size_t i = 0; i < seconds.n && point->n <= 1; i++)
        ld_samples_add(&url->probe.step, gaps.seconds.values[i] / seconds.mean);
    ld_samples_fini(&gaps.seconds);
    return enough;
}

/* Makes answers longer until those of the first prompts last beyond the last prompt. */
static enum baton_err measure_step(struct sim_probe *probe, int n, int n_prompt,
                                   struct sim_step_point *point, struct baton_why *why)
{
    struct url_probe *url = (struct url_probe *)probe;
    int64_t n_left = probe->options->context_tokens - n_prompt;
    bool enough = false;
    for (int64_t n_output = STEP_OUTPUT; !enough; n_output *= 2) {
        struct load load;
        struct ld_run run;
        if (n_output >= 2 * n_left)
            return baton_fail(why, BATON_LIMIT,
                              "--context-tokens: answers to %d prompts of %d tokens end before all "
                              "of them have begun",
                              n, n_prompt);
        load_init(&load, url, n, n_prompt, (int)(n_output < n_left ? n_output : n_left));
        load.options.requests = n == 1 ? N_ALONE : n;
        load.options.warmup = 1;
        enum baton_err err = run_load(&load, &run, why);
        if (err)
            return err;
        *point = (struct sim_step_point){.n = n};
        enough = add_steps(url, &run, n_prompt, point);
        ld_run_fini(&run);
    }
    return BATON_OK;
}

/* ---- one role beside the other ---- */

/* Returns a reader's mean context during n_steps from its begin-th step on. */
static double mean_context(int64_t begin, int64_t n_steps, int64_t n_output)
{
    double sum = 0;
    for (int64_t i = begin; i < begin + n_steps; i++)
        sum += (double)(i % n_output);
    return n_steps ? sum / (double)n_steps : 0;
}

/* Returns the time by which the readers' steps grow with their contexts between the phases, which
 * is not an effect of the prompts. */
static double grown_s(const struct sim_core_costs *costs, int64_t n_output, double alone_s,
                      double beside_s)
{
    int64_t n_alone = (int64_t)(BESIDE_S / alone_s), n_beside = (int64_t)(BESIDE_S / beside_s);
    double positions =
        mean_context(n_alone, n_beside, n_output) - mean_context(0, n_alone, n_output);
    return costs->step.position_s * N_READERS * positions;
}

static enum baton_err measure_step_beside(struct url_probe *url, const struct sim_core_costs *costs,
                                          double pass_s, double *factor, struct baton_why *why)
{
    const struct plan_calibrate_options *options = url->probe.options;
    int64_t n_left = options->context_tokens - options->chunk;
    int64_t n_output = n_left < READER_OUTPUT ? n_left : READER_OUTPUT;
    struct load load;
    struct ld_run run;
    load_init(&load, url, 1, (int)options->chunk, (int)n_output);
    load.options.concurrency = NULL;
    load.options.requests = 0;
    load.options.streams = N_READERS;
    load.options.prompt_tokens = "16";
    /* Prompts follow each other without a pause, so that a pass always runs beside the readers. */
    (void)snprintf(load.every, N_TEXT, "%.6fs", pass_s);
    enum baton_err err = run_load(&load, &run, why);
    if (err)
        return err;
    double alone_s = run.alone.itl.p50, beside_s = run.intruded.itl.p50;
    *factor = beside_s / (alone_s + grown_s(costs, n_output, alone_s, beside_s));
    ld_run_fini(&run);
    return BATON_OK;
}

/* Measures prompts of one chunk, each a pass of its own, alone and while others read. One follows
 * right after the other, because a machine's speed changes over time. */
static enum baton_err measure_pass_beside(struct url_probe *url, double *factor,
                                          struct baton_why *why)
{
    int chunk = (int)url->probe.options->chunk;
    struct sim_prompt_point alone;
    struct load load;
    struct ld_run run;
    enum baton_err err = measure_prompt(&url->probe, chunk, &alone, why);
    if (err)
        return err;
    load_init(&load, url, N_READERS, chunk, BESIDE_OUTPUT);
    load.options.requests = N_BESIDE;
    load.options.warmup = N_READERS;
    err = run_load(&load, &run, why);
    if (err)
        return err;
    *factor = run.figures.stages[BATON_STAGE_prefill_compute].p50 / alone.compute_s;
    ld_run_fini(&run);
    return BATON_OK;
}

static enum baton_err measure_beside(struct sim_probe *probe, const struct sim_core_costs *costs,
                                     struct sim_beside *beside, struct baton_why *why)
{
    struct url_probe *url = (struct url_probe *)probe;
    double chunk = (double)probe->options->chunk;
    double pass_s =
        sim_curve_at(&costs->pass.curve, chunk) + costs->pass.position_s * chunk * chunk / 2;
    double steps[N_ROUNDS], passes[N_ROUNDS];
    enum baton_err err = BATON_OK;
    for (int i = 0; i < N_ROUNDS && !err; i++) {
        err = measure_step_beside(url, costs, pass_s, &steps[i], why);
        if (!err)
            err = measure_pass_beside(url, &passes[i], why);
    }
    if (err)
        return err;
    beside->step = cli_median(steps, N_ROUNDS);
    beside->pass = cli_median(passes, N_ROUNDS);
    return BATON_OK;
}

/* Measures the roles beside each other only for pinned workers: others change their cores
 * meanwhile. */
enum baton_err sim_probe_url(const struct plan_calibrate_options *options, struct sim_costs *costs,
                             struct baton_why *why)
{
    struct url_probe url = {.probe = {.options = options,
                                      .measure_prompt = measure_prompt,
                                      .measure_step = measure_step,
                                      .has_ways = true},
                            .seed = (uint64_t)options->seed};
    enum sim_cores cores;
    enum baton_err err = sim_cores_parse("--cores", options->cores, &cores, why);
    if (err)
        return err;
    if (cores == SIM_CORES_PINNED)
        url.probe.measure_beside = measure_beside;
    return sim_probe_run(&url.probe, costs, why);
}
