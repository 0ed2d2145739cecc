/* The control groups around this process (cgroups(7), v1 and v2): the directories of their limits,
 * and the numbers in the files there.
 *
 * Every level has its own limits, and the tightest holds. In a container the path that the kernel
 * names may not be visible; the mounted root is then the container's group. So each visit begins at
 * the process's group and ends at the root of the mount.
 *
 * Ownership: nothing; paths are the caller's for the length of a call.
 * Threading: any thread.
 * Errors:    none: a file that cannot be read is no limit.
 */
#ifndef BATON_COMMON_BASE_OS_CGROUP_H
#define BATON_COMMON_BASE_OS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* dir is a group's directory, which may be missing; version is that of its files, 1 or 2. */
typedef void (*baton_cgroup_fn)(void *arg, const char *dir, int version);

/* Calls fn for every group of a controller ("cpu", "memory") around this process, inner ones first.
 * root is "" or, for tests, the parent of /proc and /sys. */
void baton_cgroup_visit(const char *root, const char *controller, baton_cgroup_fn fn, void *arg);

/* Reads the number after key in the file dir/name, or at its start when key is "". A negative one
 * is taken modulo 2^64. False when there is none, as for the limit "max". */
bool baton_cgroup_number(const char *dir, const char *name, const char *key, uint64_t *value);

#endif
