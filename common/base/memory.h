/* How much memory a process may still take: what the machine has left, and what the limits of the
 * control groups around the process leave of it (cgroups(7), v2 and v1).
 *
 * Page cache counts as free, as in the kernel's MemAvailable: a caller that maps a file and wants
 * it to stay in memory subtracts its size.
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    none: what cannot be read is no limit.
 */
#ifndef BATON_BASE_MEMORY_H
#define BATON_BASE_MEMORY_H

#include <stdint.h>

/* Bytes; UINT64_MAX when nothing tells. */
uint64_t baton_memory_available_bytes(void);

/* The same of the /proc and /sys that lie under root, for tests. */
uint64_t baton_memory_available_under(const char *root);

#endif
