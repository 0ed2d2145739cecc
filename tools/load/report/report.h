/* The report of the runs: a table for people, JSON, and CSV.
 *
 * Ownership: files belong to the caller.
 * Threading: the main thread.
 * Errors:    IO; those of buffers.
 */
#ifndef BATON_TOOLS_LOAD_REPORT_REPORT_H
#define BATON_TOOLS_LOAD_REPORT_REPORT_H

#include <stdio.h>

#include "tools/load/run.h"

/* ---- text.c ---- */

void ld_report_head(const struct ld_command *command, FILE *to);
void ld_report_run(const struct ld_command *command, const struct ld_run *run, FILE *to);
/* Writes a line for each of several closed runs. */
void ld_report_runs(const struct ld_run *runs, int n, FILE *to);

/* ---- json.c ---- */

/* Writes an object with all figures, at key. */
void ld_report_put_figures(const char *key, const struct ld_slo *slo,
                           const struct ld_figures *figures, struct baton_json_out *out);

void ld_report_json(const struct ld_command *command, const struct ld_run *runs, int n,
                    struct baton_buf *json);

/* ---- csv.c ---- */

/* Writes a row per request; times are seconds since the run's began_ns, empty when there is
 * none. */
void ld_report_csv_head(FILE *to);
void ld_report_csv(const struct ld_command *command, const struct ld_run *run, FILE *to);
/* Writes a row per request ("start", when it was due) and per event with text ("token"). */
void ld_report_itl_head(FILE *to);
void ld_report_itl(const struct ld_run *run, FILE *to);

#endif
