/* Keeps the processes of a fleet running until somebody asks it to stop.
 *
 *     STARTING --all ready--> SERVING --asked--> STOPPING_GATEWAY --> STOPPING_WORKERS --> OVER
 *        |                                             ^
 *        +-- a process ended, or it took too long -----+
 *
 * While SERVING, a process that ends is started again, after a pause that doubles with each end.
 * SIGTERM and SIGINT ask it to stop: first the gateway, whose clients' last tokens still come from
 * the workers, then these. The second one kills. SIGHUP and SIGUSR1 are passed on to all. As PID 1
 * of a container it also reaps processes that others left behind.
 *
 * Ownership: the fleet is borrowed.
 * Threading: the main thread; its loop.
 * Errors:    the reason why the fleet did not come up; CANCELED when it was asked to stop before
 *            that.
 */
#ifndef BATON_TOOLS_BATON_FLEET_SUPERVISOR_H
#define BATON_TOOLS_BATON_FLEET_SUPERVISOR_H

#include "tools/baton/fleet/fleet.h"

struct bt_supervision {
    const struct bt_fleet *fleet;
    bool detached; /* logs go to files */
    bool as_json;  /* every line of the log is an object */
    void (*on_ready)(void *arg);
    void *arg;
};

/* Runs the fleet; OK when it was asked to stop and did. */
enum baton_err bt_supervise(const struct bt_supervision *supervision,
                            struct baton_why *why) BATON_MUST_CHECK;

/* The pause before a process is started again that ended n times in a row, n >= 0: half a second,
 * twice as long each time, at most half a minute. */
int64_t bt_restart_delay_ms(int n);

#endif
