/* The control groups around this process (cgroups(7), v1 and v2): which directories hold their
 * limits, and the numbers in the files there.
 *
 * Every level has limits of its own, and the tightest holds. In a container the path that the
 * kernel names may not be visible; the mounted root is then the container's group. So each visit
 * begins at the process's group and ends at the root of the mount.
 *
 * Ownership: nothing; paths are the caller's for the length of a call.
 * Threading: any thread.
 * Errors:    none: what cannot be read is no limit.
 */
#ifndef BATON_COMMON_BASE_OS_CGROUP_H
#define BATON_COMMON_BASE_OS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* dir: a group's directory, which may be missing; version: 1 or 2, of the files in it. */
typedef void (*baton_cgroup_fn)(void *arg, const char *dir, int version);

/* Calls fn for every group of a controller ("cpu", "memory") around this process, inner ones first.
 * root: "" or, for tests, where /proc and /sys lie. */
void baton_cgroup_visit(const char *root, const char *controller, baton_cgroup_fn fn, void *arg);

/* The number after key in the file dir/name, or at its start when key is "". A negative one is
 * taken modulo 2^64. False: there is none, as for the limit "max". */
bool baton_cgroup_number(const char *dir, const char *name, const char *key, uint64_t *value);

#endif
