/* How much CPU time the control groups around a process allow it (cpu.max of cgroups v2,
 * cpu.cfs_quota_us and cpu.cfs_period_us of v1): containers, services and pods with a CPU limit.
 *
 * A cpuset needs nothing here: sched_getaffinity(2) tells it.
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    none: what cannot be read is no limit.
 */
#ifndef BATON_COMMON_BASE_OS_CPU_QUOTA_H
#define BATON_COMMON_BASE_OS_CPU_QUOTA_H

#include <stdint.h>

struct baton_cpu_quota {
    double cores;   /* seconds of CPU per second, the tightest level's; 0: no limit */
    uint64_t group; /* equal for processes that share the limit, on one machine */
};

void baton_cpu_quota_get(struct baton_cpu_quota *quota);

/* The same of the /proc and /sys that lie under root, for tests. */
void baton_cpu_quota_get_under(const char *root, struct baton_cpu_quota *quota);

/* How many of n processors to compute on: whole cores of the quota, rounded down, at least one.
 * With more, all threads would stand still for the rest of each period once the time is used up. */
int baton_cpu_quota_cores(const struct baton_cpu_quota *quota, int n);

#endif
