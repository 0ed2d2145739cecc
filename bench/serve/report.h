/* What is told of the runs: a table for people, JSON, and CSV.
 *
 * Ownership: files belong to the caller.
 * Threading: the main thread.
 * Errors:    IO; those of buffers.
 */
#ifndef BATON_BENCH_SERVE_REPORT_H
#define BATON_BENCH_SERVE_REPORT_H

#include <stdio.h>

#include "bench/serve/run.h"

/* ---- report_text.c ---- */

void sv_report_head(const struct sv_command *command, FILE *to);
void sv_report_run(const struct sv_command *command, const struct sv_run *run, FILE *to);
/* A line for each of several closed runs. */
void sv_report_runs(const struct sv_run *runs, int n, FILE *to);

/* ---- report_json.c ---- */

/* An object with all figures, at key. */
void sv_report_put_figures(const char *key, const struct sv_slo *slo,
                           const struct sv_figures *figures, struct baton_json_out *out);

void sv_report_json(const struct sv_command *command, const struct sv_run *runs, int n,
                    struct baton_buf *json);

/* ---- report_csv.c ---- */

/* A row per request; times are seconds since the run's began_ns, empty when there is none. */
void sv_report_csv_head(FILE *to);
void sv_report_csv(const struct sv_command *command, const struct sv_run *run, FILE *to);
/* A row per request ("start", when it was due) and per event with text ("token"). */
void sv_report_itl_head(FILE *to);
void sv_report_itl(const struct sv_run *run, FILE *to);

#endif
