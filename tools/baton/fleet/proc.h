/* Facts about a process from /proc.
 *
 * A process is identified by its pid and its start time, because pids are used again.
 *
 * Ownership: plain values.
 * Threading: any thread.
 * Errors:    false when there is no such process, or when it has ended and was not reaped yet.
 */
#ifndef BATON_TOOLS_BATON_FLEET_PROC_H
#define BATON_TOOLS_BATON_FLEET_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bt_proc {
    uint64_t started; /* in clock ticks since the boot */
    int64_t age_s, memory_bytes;
};

bool bt_proc_get(pid_t pid, struct bt_proc *proc);

#endif
