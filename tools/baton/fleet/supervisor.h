/* Keeps the processes of a fleet running until it is asked to stop.
 *
 *     STARTING --all ready--> SERVING --asked--> STOPPING_GATEWAY --> STOPPING_WORKERS --> OVER
 *        |                                             ^
 *        +-- a process ended, or it took too long -----+
 *
 * While SERVING, a process that ends is started again, after a pause that doubles with each end; at
 * once, if it was asked to drain.
 * SIGTERM and SIGINT begin the stop: first the gateway, whose clients' last tokens still come from
 * the workers, then the workers. A second one kills. SIGHUP and SIGUSR1 are passed on to all. As
 * PID 1 of a container it also reaps orphans.
 *
 * Ownership: the fleet is borrowed.
 * Threading: the main thread; its loop.
 * Errors:    the reason why the fleet did not come up; CANCELED when it was asked to stop before it
 *            did.
 */
#ifndef BATON_TOOLS_BATON_FLEET_SUPERVISOR_H
#define BATON_TOOLS_BATON_FLEET_SUPERVISOR_H

#include "tools/baton/fleet/fleet.h"

struct bt_supervision {
    const struct bt_fleet *fleet;
    bool detached;                                  /* logs go to files */
    bool as_json;                                   /* every line of the log is a JSON object */
    void (*on_ready)(void *arg, const char *model); /* the name under which it is served */
    void *arg;
};

/* Runs the fleet. OK when it stopped as asked. */
enum baton_err bt_supervise(const struct bt_supervision *supervision,
                            struct baton_why *why) BATON_MUST_CHECK;

/* Returns the pause before a process that ended n >= 0 times in a row is started again: half a
 * second, twice as long each time, at most half a minute. */
int64_t bt_restart_delay_ms(int n);
/* Returns the pause before a process that was asked to end is started again, which ran for ran_ns:
 * none, or half a second if the fleet took longer to become ready (ready_ns) than it ran. */
int64_t bt_drained_delay_ms(int64_t ran_ns, int64_t ready_ns);

#endif
