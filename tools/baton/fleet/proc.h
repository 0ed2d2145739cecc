/* What /proc tells of a process.
 *
 * A process is named by its pid and its start time, because pids are used again.
 *
 * Ownership: plain values.
 * Threading: any thread.
 * Errors:    false when there is no such process, or when it is over and only not yet reaped.
 */
#ifndef BATON_TOOLS_BATON_FLEET_PROC_H
#define BATON_TOOLS_BATON_FLEET_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bt_proc {
    uint64_t started; /* clock ticks after the machine's start */
    int64_t age_s, memory_bytes;
};

bool bt_proc_get(pid_t pid, struct bt_proc *proc);

#endif
