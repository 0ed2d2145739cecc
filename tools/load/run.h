/* One run of the command: warm-up, load, figures.
 *
 *     interference:  settle (every reader has a token) | baseline_s alone | baseline_s intruded
 *
 * Ownership: a run's records are freed with ld_run_fini; its figures are plain values.
 * Threading: the loop's.
 * Errors:    those of the load; TIMEOUT when the readers never all stream.
 */
#ifndef BATON_TOOLS_LOAD_RUN_H
#define BATON_TOOLS_LOAD_RUN_H

#include "tools/load/options.h"
#include "tools/load/report/figures.h"
#include "tools/load/workload/phases.h"

/* The parts that all runs share. */
struct ld_stand {
    const struct ld_command *command;
    uv_loop_t *loop;
    struct ld_setting *setting;
    struct ld_load *load; /* the load that is running, or NULL */
    bool stopping;        /* the operator interrupted */
    bool realtime;        /* the client has real-time priority */
};

struct ld_run {
    int number;
    int concurrency; /* 0: open loop */
    struct ld_records records;
    int64_t began_ns, to_ns;     /* the window */
    int64_t intruded_ns;         /* begin of the second phase */
    struct ld_figures figures;   /* of requests, or of readers */
    struct ld_figures intruders; /* interference only */
    struct ld_phase alone, intruded;
    double wall_s, cpu_s; /* of the client */
    bool realtime;        /* it had real-time priority */
    uint64_t n_connects, n_reconnects, n_held, n_unsent;
    size_t max_open; /* connections */
};

/* Runs once. concurrency is that of a closed loop, 0 for an open one or interference. */
enum baton_err ld_run(struct ld_stand *stand, int number, int concurrency, struct ld_run *run,
                      struct baton_why *why) BATON_MUST_CHECK;
void ld_run_fini(struct ld_run *run);

#endif
