#include <inttypes.h>
#include <string.h>

#include "tools/load/report/report.h"

/* ---- rows ---- */

static void put_title(const char *what, FILE *to)
{
    (void)fprintf(to, "%-16s%10s%10s%10s%10s%10s\n", what, "mean", "p50", "p90", "p99", "max");
}

static void put_row(const char *title, const struct ld_summary *summary, FILE *to)
{
    if (summary->n)
        (void)fprintf(to, "%-16s%10.3f%10.3f%10.3f%10.3f%10.3f\n", title, 1e3 * summary->mean,
                      1e3 * summary->p50, 1e3 * summary->p90, 1e3 * summary->p99,
                      1e3 * summary->max);
}

static void put_times(const struct ld_figures *figures, enum ld_time first, enum ld_time last,
                      FILE *to)
{
    for (int i = first; i <= (int)last; i++)
        put_row(ld_time_title((enum ld_time)i), &figures->times[i], to);
}

/* ---- outcomes ---- */

static void put_counts(const struct ld_figures *figures, FILE *to)
{
    const uint64_t *n = figures->n_by_outcome;
    (void)fprintf(to,
                  "%" PRIu64 " sent: %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64
                  " canceled, %" PRIu64 " cut at the end; in %.2f s\n",
                  figures->n_sent, n[LD_DONE], n[LD_FAILED], n[LD_CANCELED], n[LD_CUT],
                  figures->window_s);
    for (int i = 0; i < figures->n_failures; i++)
        (void)fprintf(to, "  %" PRIu64 " x %s\n", figures->failures[i].n,
                      figures->failures[i].text);
    if (figures->n_attempts > figures->n_sent)
        (void)fprintf(to, "  %" PRIu64 " attempts, %" PRIu64 " of them answered 429\n",
                      figures->n_attempts, figures->n_refused);
    if (figures->n_short)
        (void)fprintf(to, "  %" PRIu64 " ended with fewer tokens than asked for\n",
                      figures->n_short);
    if (figures->n_clipped)
        (void)fprintf(to, "  %" PRIu64 " shortened by --max-total-tokens\n", figures->n_clipped);
}

static void put_rates(const struct ld_figures *figures, FILE *to)
{
    (void)fprintf(to, "output %.1f tokens/s, input %.1f tokens/s, %.2f requests/s\n",
                  figures->output_per_s, figures->prompt_per_s, figures->requests_per_s);
}

static void put_tokens(const struct ld_figures *figures, FILE *to)
{
    if (figures->n_merged)
        (void)fprintf(to,
                      "  %" PRIu64 " of %" PRIu64
                      " tokens came without an event of their own: a gap is that of an event\n",
                      figures->n_merged, figures->output_tokens);
    if (figures->n_coalesced)
        (void)fprintf(to,
                      "  %" PRIu64 " of %" PRIu64
                      " events came in one read with the one before: a gap of 0\n",
                      figures->n_coalesced, figures->n_events);
    if (figures->n_warm)
        (void)fprintf(to,
                      "  prefix cache: %" PRIu64 " warm, %" PRIu64 " cold; %" PRIu64
                      " prompt tokens were cached\n",
                      figures->n_warm, figures->n_cold, figures->cached_tokens);
}

static void put_goodput(const struct ld_command *command, const struct ld_figures *figures,
                        FILE *to)
{
    if (ld_slo_is_set(&command->slo) && figures->n_sent)
        (void)fprintf(to, "goodput (%s): %.2f requests/s, %.1f %% of those sent\n",
                      command->options->slo, figures->good_per_s,
                      100 * (double)figures->n_good / (double)figures->n_sent);
}

static void put_client(const struct ld_run *run, FILE *to)
{
    (void)fprintf(to, "client: %.1f %% of a core, at most %zu connections", //
                  100 * run->cpu_s / run->wall_s, run->max_open);
    if (run->n_reconnects)
        (void)fprintf(to, ", %" PRIu64 " kept ones were found closed", run->n_reconnects);
    if (run->n_held)
        (void)fprintf(to, ", %" PRIu64 " requests held back by --max-in-flight", run->n_held);
    if (run->n_unsent)
        (void)fprintf(to, ", %" PRIu64 " never sent", run->n_unsent);
    if (!run->realtime)
        (void)fputs(", without real-time priority: busy cores can delay its readings", to);
    (void)fputc('\n', to);
}

/* ---- the server's figures ---- */

static void put_server(const struct ld_figures *figures, FILE *to)
{
    if (!figures->times[LD_TIME_server_ttft].n && !figures->times[LD_TIME_server_tpot].n)
        return;
    put_title("server, ms", to);
    put_times(figures, LD_TIME_server_ttft, LD_TIME_server_overlap, to);
    put_title("beyond it, ms", to);
    put_times(figures, LD_TIME_over_ttft, LD_TIME_over_step, to);
    put_title("stages, ms", to);
    for (int i = 0; i < BATON_N_STAGES; i++)
        put_row(baton_stage_name((enum baton_stage)i), &figures->stages[i], to);
}

/* ---- interference ---- */

static void put_stalls(const char *title, const struct ld_phase *phase, FILE *to)
{
    (void)fprintf(to,
                  "%s: longest gap %.1f steps (medians), %" PRIu64
                  " of %zu longer than %d; %" PRIu64 " readers begun\n",
                  title, phase->max_steps, phase->n_stalls, phase->itl.n, LD_STALL_STEPS,
                  phase->n_readers_begun);
}

static void put_interference(const struct ld_run *run, FILE *to)
{
    const struct ld_summary *alone = &run->alone.itl, *intruded = &run->intruded.itl;
    put_title("readers' ITL, ms", to);
    put_row("alone", alone, to);
    put_row("intruded", intruded, to);
    (void)fprintf(to, "%-16s%10.2f%10.2f%10.2f%10.2f%10.2f\n", "ratio",
                  intruded->mean / alone->mean, intruded->p50 / alone->p50,
                  intruded->p90 / alone->p90, intruded->p99 / alone->p99,
                  intruded->max / alone->max);
    put_stalls("alone", &run->alone, to);
    put_stalls("intruded", &run->intruded, to);
    (void)fputs("intruders: ", to);
    put_counts(&run->intruders, to);
    put_title("intruders, ms", to);
    put_times(&run->intruders, LD_TIME_ttft, LD_TIME_ttft, to);
    (void)fputs("readers: ", to);
}

/* ---- the whole report ---- */

void ld_report_head(const struct ld_command *command, FILE *to)
{
    (void)fprintf(to, "%s, %s, seed %" PRIu64 "\n", command->options->url,
                  ld_api_name(command->api.api), command->seed);
}

static void put_name(const struct ld_command *command, const struct ld_run *run, FILE *to)
{
    const struct ld_options *options = command->options;
    if (ld_command_intrudes(command))
        (void)fprintf(to, "\n%" PRId64 " readers; %s tokens of prompt every %s\n", options->streams,
                      options->intrude_prompt_tokens, options->intrude_every);
    else if (run->concurrency)
        (void)fprintf(to, "\nconcurrency %d\n", run->concurrency);
    else if (options->trace)
        (void)fprintf(to, "\ntrace %s at %.3g times its speed\n", options->trace,
                      options->trace_speed);
    else
        (void)fprintf(to, "\n%.3g requests/s\n", options->rate);
}

void ld_report_run(const struct ld_command *command, const struct ld_run *run, FILE *to)
{
    const struct ld_figures *figures = &run->figures;
    put_name(command, run, to);
    if (ld_command_intrudes(command))
        put_interference(run, to);
    put_counts(figures, to);
    put_rates(figures, to);
    put_goodput(command, figures, to);
    if (figures->times[LD_TIME_ttft].n) {
        put_title("client, ms", to);
        put_times(figures, LD_TIME_ttft, LD_TIME_e2el, to);
        if (!run->concurrency && !ld_command_intrudes(command))
            put_times(figures, LD_TIME_late, LD_TIME_late, to);
        if (figures->n_warm)
            put_times(figures, LD_TIME_ttft_cold, LD_TIME_ttft_warm, to);
        put_server(figures, to);
    }
    put_tokens(figures, to);
    put_client(run, to);
}

void ld_report_runs(const struct ld_run *runs, int n, FILE *to)
{
    (void)fprintf(to, "\n%-12s%14s%14s%12s%12s%12s%12s%8s\n", "concurrency", "output tok/s",
                  "requests/s", "TTFT p50", "TTFT p99", "ITL p50", "ITL p99", "failed");
    for (int i = 0; i < n; i++) {
        const struct ld_figures *figures = &runs[i].figures;
        const struct ld_summary *ttft = &figures->times[LD_TIME_ttft];
        const struct ld_summary *itl = &figures->times[LD_TIME_itl];
        (void)fprintf(to, "%-12d%14.1f%14.2f%12.3f%12.3f%12.3f%12.3f%8" PRIu64 "\n",
                      runs[i].concurrency, figures->output_per_s, figures->requests_per_s,
                      1e3 * ttft->p50, 1e3 * ttft->p99, 1e3 * itl->p50, 1e3 * itl->p99,
                      figures->n_by_outcome[LD_FAILED]);
    }
}
