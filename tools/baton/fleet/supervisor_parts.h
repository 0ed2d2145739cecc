/* The parts of the supervisor, for its own files: supervisor.c has the loop, restart.c the lives of
 * processes, stop.c their orderly end.
 *
 * Ownership: the supervisor owns its processes' slots, pipes and timers.
 * Threading: the loop's.
 * Errors:    what ends the fleet is kept in err and why.
 */
#ifndef BATON_TOOLS_BATON_FLEET_SUPERVISOR_PARTS_H
#define BATON_TOOLS_BATON_FLEET_SUPERVISOR_PARTS_H

#include <sys/types.h>
#include <uv.h>

#include "tools/baton/fleet/log_output.h"
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
    enum bt_phase phase;
    struct bt_process processes[BT_MAX_PROCESSES]; /* the gateway first */
    int n;
    struct bt_log_output output;
    struct bt_log_input own_log; /* what this process logs, in the foreground */
    int old_stderr;
    enum baton_err err;
    struct baton_why why;
};

/* ---- stop.c ---- */

/* Sends a signal to the processes [from, to) that run. */
void bt_signal_processes(const struct bt_supervisor *sv, int number, int from, int to);
/* Asks the gateway to end, then the workers. */
void bt_begin_stop(struct bt_supervisor *sv);
/* Goes on to the next step when this one's processes are gone. */
void bt_advance_stop(struct bt_supervisor *sv);
/* Somebody asked, by that signal: the second time kills. */
void bt_asked_to_stop(struct bt_supervisor *sv, const char *who);

/* ---- restart.c ---- */

void bt_process_start(struct bt_process *process);
/* It ended with that status of waitpid: starts it again later, or ends the fleet. */
void bt_process_ended(struct bt_process *process, int status);

#endif
