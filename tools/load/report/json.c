#include "common/base/version.h"
#include "tools/load/http/client_host.h"
#include "tools/load/report/report.h"

static void put_summary(const char *key, const struct ld_summary *summary,
                        struct baton_json_out *out)
{
    baton_json_open(out, key, '{');
    baton_json_put_uint(out, "n", summary->n);
    baton_json_put_real(out, "mean_s", summary->mean);
    baton_json_put_real(out, "min_s", summary->min);
    baton_json_put_real(out, "p50_s", summary->p50);
    baton_json_put_real(out, "p90_s", summary->p90);
    baton_json_put_real(out, "p95_s", summary->p95);
    baton_json_put_real(out, "p99_s", summary->p99);
    baton_json_put_real(out, "max_s", summary->max);
    baton_json_close(out, '}');
}

static void put_counts(const struct ld_figures *figures, struct baton_json_out *out)
{
    baton_json_open(out, "requests", '{');
    baton_json_put_uint(out, "sent", figures->n_sent);
    for (int i = LD_DONE; i < LD_N_OUTCOMES; i++)
        baton_json_put_uint(out, ld_outcome_name((enum ld_outcome)i), figures->n_by_outcome[i]);
    baton_json_put_uint(out, "attempts", figures->n_attempts);
    baton_json_put_uint(out, "refused_429", figures->n_refused);
    baton_json_put_uint(out, "short", figures->n_short);
    baton_json_put_uint(out, "clipped", figures->n_clipped);
    baton_json_put_uint(out, "cold", figures->n_cold);
    baton_json_put_uint(out, "warm", figures->n_warm);
    baton_json_close(out, '}');
    baton_json_open(out, "tokens", '{');
    baton_json_put_uint(out, "prompt", figures->prompt_tokens);
    baton_json_put_uint(out, "cached", figures->cached_tokens);
    baton_json_put_uint(out, "output", figures->output_tokens);
    baton_json_put_uint(out, "events", figures->n_events);
    baton_json_put_uint(out, "without_own_event", figures->n_merged);
    baton_json_put_uint(out, "read_with_the_one_before", figures->n_coalesced);
    baton_json_close(out, '}');
}

static void put_failures(const struct ld_figures *figures, struct baton_json_out *out)
{
    baton_json_open(out, "failures", '[');
    for (int i = 0; i < figures->n_failures; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_string(out, "kind", figures->failures[i].text);
        baton_json_put_uint(out, "n", figures->failures[i].n);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

static void put_slo(const struct ld_slo *slo, const struct ld_figures *figures,
                    struct baton_json_out *out)
{
    if (!ld_slo_is_set(slo)) {
        baton_json_put_null(out, "goodput");
        return;
    }
    baton_json_open(out, "goodput", '{');
    baton_json_put_real(out, "ttft_s", slo->ttft_s);
    baton_json_put_real(out, "itl_s", slo->itl_s);
    baton_json_put_real(out, "tpot_s", slo->tpot_s);
    baton_json_put_real(out, "e2el_s", slo->e2el_s);
    baton_json_put_uint(out, "good", figures->n_good);
    baton_json_put_real(out, "share",
                        figures->n_sent ? (double)figures->n_good / (double)figures->n_sent : 0);
    baton_json_put_real(out, "requests_per_s", figures->good_per_s);
    baton_json_close(out, '}');
}

void ld_report_put_figures(const char *key, const struct ld_slo *slo,
                           const struct ld_figures *figures, struct baton_json_out *out)
{
    baton_json_open(out, key, '{');
    baton_json_put_real(out, "window_s", figures->window_s);
    put_counts(figures, out);
    put_failures(figures, out);
    baton_json_put_real(out, "output_tokens_per_s", figures->output_per_s);
    baton_json_put_real(out, "prompt_tokens_per_s", figures->prompt_per_s);
    baton_json_put_real(out, "requests_per_s", figures->requests_per_s);
    put_slo(slo, figures, out);
    baton_json_open(out, "times", '{');
    for (int i = 0; i < LD_N_TIMES; i++)
        put_summary(ld_time_key((enum ld_time)i), &figures->times[i], out);
    baton_json_close(out, '}');
    baton_json_open(out, "stages", '{');
    for (int i = 0; i < BATON_N_STAGES; i++)
        if (figures->stages[i].n)
            put_summary(baton_stage_name((enum baton_stage)i), &figures->stages[i], out);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

static void put_phase(const char *key, const struct ld_phase *phase, struct baton_json_out *out)
{
    baton_json_open(out, key, '{');
    put_summary("itl", &phase->itl, out);
    baton_json_put_real(out, "max_steps", phase->max_steps);
    baton_json_put_uint(out, "stalls", phase->n_stalls);
    baton_json_put_uint(out, "readers_begun", phase->n_readers_begun);
    baton_json_close(out, '}');
}

static void put_interference(const struct ld_slo *slo, const struct ld_run *run,
                             struct baton_json_out *out)
{
    const struct ld_summary *alone = &run->alone.itl, *intruded = &run->intruded.itl;
    ld_report_put_figures("readers", slo, &run->figures, out);
    ld_report_put_figures("intruders", slo, &run->intruders, out);
    put_phase("alone", &run->alone, out);
    put_phase("intruded", &run->intruded, out);
    baton_json_open(out, "ratio", '{');
    baton_json_put_real(out, "p50", intruded->p50 / alone->p50);
    baton_json_put_real(out, "p99", intruded->p99 / alone->p99);
    baton_json_put_real(out, "max", intruded->max / alone->max);
    baton_json_close(out, '}');
}

static void put_run(const struct ld_command *command, const struct ld_run *run,
                    struct baton_json_out *out)
{
    baton_json_open(out, NULL, '{');
    baton_json_put_int(out, "run", run->number);
    baton_json_put_int(out, "concurrency", run->concurrency);
    if (ld_command_intrudes(command))
        put_interference(&command->slo, run, out);
    else
        ld_report_put_figures("figures", &command->slo, &run->figures, out);
    baton_json_open(out, "client", '{');
    baton_json_put_real(out, "wall_s", run->wall_s);
    baton_json_put_real(out, "cpu_s", run->cpu_s);
    baton_json_put_real(out, "cpu_share", run->cpu_s / run->wall_s);
    baton_json_put_bool(out, "realtime", run->realtime);
    baton_json_put_uint(out, "connects", run->n_connects);
    baton_json_put_uint(out, "reconnects", run->n_reconnects);
    baton_json_put_uint(out, "most_connections", run->max_open);
    baton_json_put_uint(out, "held_back", run->n_held);
    baton_json_put_uint(out, "never_sent", run->n_unsent);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

void ld_report_json(const struct ld_command *command, const struct ld_run *runs, int n,
                    struct baton_buf *json)
{
    struct baton_json_out out = baton_json_out(json);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "baton", baton_release);
    baton_json_open(&out, "settings", '{');
    ld_options_put(command, &out);
    baton_json_close(&out, '}');
    baton_json_open(&out, "machine", '{');
    ld_host_put(&out);
    baton_json_put_int(&out, "client_peak_bytes", ld_host_peak_bytes());
    baton_json_close(&out, '}');
    baton_json_open(&out, "runs", '[');
    for (int i = 0; i < n; i++)
        put_run(command, &runs[i], &out);
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
    baton_buf_putc(json, '\n');
}
