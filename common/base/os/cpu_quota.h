/* The CPU time that the control groups around a process allow it (cpu.max of cgroups v2,
 * cpu.cfs_quota_us and cpu.cfs_period_us of v1): containers, services and pods with a CPU limit.
 *
 * A cpuset needs no code here: sched_getaffinity(2) reports it.
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    none: a file that cannot be read is no limit.
 */
#ifndef BATON_COMMON_BASE_OS_CPU_QUOTA_H
#define BATON_COMMON_BASE_OS_CPU_QUOTA_H

#include <stdint.h>

struct baton_cpu_quota {
    double cores;   /* seconds of CPU per second at the tightest level; 0: no limit */
    uint64_t group; /* equal for processes that share the limit, on one machine */
};

void baton_cpu_quota_get(struct baton_cpu_quota *quota);

/* Likewise under the /proc and /sys of root, for tests. */
void baton_cpu_quota_get_under(const char *root, struct baton_cpu_quota *quota);

/* Returns the number of n processors to compute on: whole cores of the quota, rounded down, at
 * least one. With more, all threads would stop for the rest of each period once the time is used
 * up. */
int baton_cpu_quota_cores(const struct baton_cpu_quota *quota, int n);

#endif
