/* The parts of the supervisor, for its own files: supervisor.c has the loop, restart.c starts and
 * restarts processes, stop.c stops them.
 *
 * Ownership: the supervisor owns its processes' slots, pipes and timers.
 * Threading: the loop's.
 * Errors:    err and why hold the reason for the fleet's end.
 */
#ifndef BATON_TOOLS_BATON_FLEET_SUPERVISOR_PARTS_H
#define BATON_TOOLS_BATON_FLEET_SUPERVISOR_PARTS_H

#include <sys/types.h>
#include <uv.h>

#include "tools/baton/fleet/log_output.h"
#include "tools/baton/fleet/readiness.h"
#include "tools/baton/fleet/supervisor.h"

enum { BT_N_SIGNALS = 5 };

enum bt_phase { BT_STARTING, BT_SERVING, BT_STOPPING_GATEWAY, BT_STOPPING_WORKERS, BT_OVER };

struct bt_process {
    struct bt_supervisor *supervisor;
    const struct bt_command *command;
    pid_t pid; /* 0 while it does not run */
    int out_fd;
    int n_restarts, n_failures; /* in all; in a row */
    int64_t started_ns;
    uv_timer_t again;
    struct bt_log_input log;
};

struct bt_supervisor {
    const struct bt_supervision *supervision;
    uv_loop_t loop;
    uv_signal_t signals[BT_N_SIGNALS];
    uv_timer_t poll, patience, stop_timeout;
    uv_work_t probe;
    bool is_probing, probe_says_ready;
    char model[BT_MODEL_BYTES]; /* as it is served, once the probe says ready */
    int64_t ready_ns;           /* the time from its start until the fleet was ready */
    enum bt_phase phase;
    struct bt_process processes[BT_MAX_PROCESSES]; /* the gateway is the first */
    int n;
    struct bt_log_output output;
    struct bt_log_input own_log; /* of this process, in the foreground */
    int old_stderr;
    enum baton_err err;
    struct baton_why why;
};

/* ---- stop.c ---- */

/* Sends a signal to the processes [from, to) that run. */
void bt_signal_processes(const struct bt_supervisor *sv, int number, int from, int to);
/* Asks the gateway to end; the workers follow. */
void bt_begin_stop(struct bt_supervisor *sv);
/* Begins the next step when the processes of this one are gone. */
void bt_advance_stop(struct bt_supervisor *sv);
/* Handles a request to stop by that signal: the second one kills. */
void bt_on_stop_request(struct bt_supervisor *sv, const char *who);

/* ---- restart.c ---- */

void bt_process_start(struct bt_process *process);
/* Handles the end with that status of waitpid: starts the process again later, or ends the
 * fleet. */
void bt_process_ended(struct bt_process *process, int status);

#endif
