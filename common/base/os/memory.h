/* The memory that a process may still use: the rest of the machine's, and the rest within the
 * limits of the control groups around the process (cgroups(7), v2 and v1).
 *
 * Page cache counts as free, as in the kernel's MemAvailable: a caller that maps a file and wants
 * it to stay in memory subtracts its size.
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    none: a file that cannot be read is no limit.
 */
#ifndef BATON_COMMON_BASE_OS_MEMORY_H
#define BATON_COMMON_BASE_OS_MEMORY_H

#include <stdint.h>

enum { BATON_MEMORY_LIMIT_TEXT = 160 };

struct baton_memory_left {
    uint64_t bytes; /* UINT64_MAX when unknown */
    /* group of the deciding limit, equal for processes that share it; 0: the machine's */
    uint64_t group;
    /* the deciding limit, for a log or an error: "the machine" or "512 MiB of /sys/fs/cgroup/a" */
    char limit[BATON_MEMORY_LIMIT_TEXT];
};

void baton_memory_left(struct baton_memory_left *left);

/* Likewise under the /proc and /sys of root, for tests. */
void baton_memory_left_under(const char *root, struct baton_memory_left *left);

#endif
