#include "tools/plan/simulate/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/version.h"
#include "tools/load/report/report.h"
#include "tools/plan/costs/costs_file.h"

/* The times in the table and the CSV. */
static const struct {
    enum ld_time time;
    const char *title;
} shown[] = {{LD_TIME_ttft, "TTFT"}, {LD_TIME_itl, "ITL"}, {LD_TIME_e2el, "E2EL"}};

enum { N_SHOWN = BATON_N_OF(shown) };

/* ---- table ---- */

void sim_report_text_head(const struct sim_command *command, FILE *to)
{
    const struct sim_options *options = command->options;
    (void)fprintf(to, "simulated with the costs of %s (%s), seed %" PRId64 "; times in ms\n",
                  options->calibration, command->settings.costs.model, options->seed);
    (void)fprintf(to, "%-12s%9s%11s%11s", "layout", "load", "requests/s", "tokens/s");
    for (int i = 0; i < N_SHOWN; i++)
        (void)fprintf(to, "%9s p50%9s p99", shown[i].title, shown[i].title);
    (void)fprintf(to, "%9s%9s%8s%9s%9s\n", "P busy", "D busy", "batch", "failed", "good");
}

void sim_report_text(const struct sim_run *run, bool has_slo, FILE *to)
{
    const struct sim_results *results = &run->results;
    const struct ld_figures *figures = &results->figures;
    char name[SIM_LAYOUT_BYTES], load[16] = "open";
    sim_layout_name(&results->layout, name);
    if (run->concurrency)
        (void)snprintf(load, sizeof load, "%d", run->concurrency);
    (void)fprintf(to, "%-12s%9s%11.2f%11.0f", name, load, figures->requests_per_s,
                  figures->output_per_s);
    for (int i = 0; i < N_SHOWN; i++)
        (void)fprintf(to, "%13.3f%13.3f", 1e3 * figures->times[shown[i].time].p50,
                      1e3 * figures->times[shown[i].time].p99);
    (void)fprintf(to, "%8.1f%%%8.1f%%%8.1f%9" PRIu64, 100 * results->prefill_busy,
                  100 * results->decode_busy, results->mean_batch,
                  figures->n_by_outcome[LD_FAILED]);
    if (has_slo)
        (void)fprintf(to, "%8.1f%%\n", 100 * (double)figures->n_good / (double)figures->n_sent);
    else
        (void)fprintf(to, "%9s\n", "-");
}

/* ---- CSV ---- */

void sim_report_csv_head(FILE *to)
{
    (void)fputs("layout,prefill,decode,concurrency,rate,sent,done,failed,window_s,requests_per_s,"
                "output_tokens_per_s,prompt_tokens_per_s",
                to);
    for (int i = 0; i < N_SHOWN; i++) {
        const char *key = ld_time_key(shown[i].time);
        (void)fprintf(to, ",%s_mean_s,%s_p50_s,%s_p90_s,%s_p99_s", key, key, key, key);
    }
    (void)fputs(
        ",good,good_share,good_requests_per_s,prefill_busy,decode_busy,mean_rows,mean_batch,"
        "nic_busy,events,wall_s\n",
        to);
}

static void put_number(double number, FILE *to)
{
    if (isnan(number))
        (void)fputc(',', to);
    else
        (void)fprintf(to, ",%.6f", number);
}

void sim_report_csv(const struct sim_command *command, const struct sim_run *run, FILE *to)
{
    const struct sim_results *results = &run->results;
    const struct ld_figures *figures = &results->figures;
    char name[SIM_LAYOUT_BYTES];
    sim_layout_name(&results->layout, name);
    (void)fprintf(to, "%s,%d,%d,%d,%g,%" PRIu64 ",%" PRIu64 ",%" PRIu64, name,
                  results->layout.n_prefill, results->layout.n_decode, run->concurrency,
                  command->options->rate, figures->n_sent, figures->n_by_outcome[LD_DONE],
                  figures->n_by_outcome[LD_FAILED]);
    const double rates[] = {figures->window_s, figures->requests_per_s, figures->output_per_s,
                            figures->prompt_per_s};
    for (size_t i = 0; i < BATON_N_OF(rates); i++)
        put_number(rates[i], to);
    for (int i = 0; i < N_SHOWN; i++) {
        const struct ld_summary *times = &figures->times[shown[i].time];
        put_number(times->mean, to);
        put_number(times->p50, to);
        put_number(times->p90, to);
        put_number(times->p99, to);
    }
    (void)fprintf(to, ",%" PRIu64, figures->n_good);
    const double rest[] = {(double)figures->n_good / (double)figures->n_sent,
                           figures->good_per_s,
                           results->prefill_busy,
                           results->decode_busy,
                           results->mean_rows,
                           results->mean_batch,
                           results->nic_busy};
    for (size_t i = 0; i < BATON_N_OF(rest); i++)
        put_number(rest[i], to);
    (void)fprintf(to, ",%" PRIu64 ",%.3f\n", results->n_events, results->wall_s);
}

/* ---- JSON ---- */

static void put_run(const struct sim_command *command, const struct sim_run *run,
                    struct baton_json_out *out)
{
    const struct sim_results *results = &run->results;
    char name[SIM_LAYOUT_BYTES];
    sim_layout_name(&results->layout, name);
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "layout", name);
    baton_json_put_int(out, "prefill", results->layout.n_prefill);
    baton_json_put_int(out, "decode", results->layout.n_decode);
    baton_json_put_int(out, "concurrency", run->concurrency);
    ld_report_put_figures("figures", &command->settings.slo, &results->figures, out);
    baton_json_open(out, "simulation", '{');
    baton_json_put_real(out, "prefill_busy", results->prefill_busy);
    baton_json_put_real(out, "decode_busy", results->decode_busy);
    baton_json_put_real(out, "mean_rows", results->mean_rows);
    baton_json_put_real(out, "mean_batch", results->mean_batch);
    baton_json_put_real(out, "nic_busy", results->nic_busy);
    baton_json_put_uint(out, "events", results->n_events);
    baton_json_put_real(out, "wall_s", results->wall_s);
    baton_json_close(out, '}');
    baton_json_close(out, '}');
}

void sim_report_json(const struct sim_command *command, const struct sim_run *runs, int n,
                     struct baton_buf *json)
{
    struct baton_json_out out = baton_json_out(json);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "baton", baton_release);
    baton_json_open(&out, "settings", '{');
    cli_put_options(sim_option_table, sim_n_options, command->options, &out);
    baton_json_close(&out, '}');
    sim_costs_file_put(&command->settings.costs, "calibration", &out);
    baton_json_open(&out, "runs", '[');
    for (int i = 0; i < n; i++)
        put_run(command, &runs[i], &out);
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
    baton_buf_putc(json, '\n');
}
