/* Lists of processors as Linux writes them: "0-3,8".
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    false: it is no such list.
 */
#ifndef BATON_WORKER_CORES_CPU_LIST_H
#define BATON_WORKER_CORES_CPU_LIST_H

#include <sched.h>
#include <stdbool.h>

/* A line's end may follow, as in files of /sys. An empty list is none. */
bool baton_cpu_list_parse(const char *list, cpu_set_t *set);

#endif
