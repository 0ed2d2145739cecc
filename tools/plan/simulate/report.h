/* The report of simulated runs: a table for people, JSON with the names of `baton-load`, and CSV.
 *
 * Ownership: files and buffers belong to the caller.
 * Threading: the main thread.
 * Errors:    those of buffers; those of files stay with the file.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_REPORT_H
#define BATON_TOOLS_PLAN_SIMULATE_REPORT_H

#include <stdio.h>

#include "tools/plan/simulate/options.h"

/* One layout under one load. */
struct sim_run {
    int concurrency; /* 0: open loop */
    struct sim_results results;
};

void sim_report_text_head(const struct sim_command *command, FILE *to);
void sim_report_text(const struct sim_run *run, bool has_slo, FILE *to);

void sim_report_csv_head(FILE *to);
void sim_report_csv(const struct sim_command *command, const struct sim_run *run, FILE *to);

void sim_report_json(const struct sim_command *command, const struct sim_run *runs, int n,
                     struct baton_buf *json);

#endif
