/* The NUMA node that a worker is bound to, by --numa.
 *
 *     none     no node: the kernel places threads and memory
 *     node:N   threads run on the node's processors, and memory comes from the node as long as it
 *              has some; then from another, because a slower worker is better than none
 *     auto     as node:N on a machine with several nodes: prefill workers take the nodes from the
 *              first on and decode workers from the last on, by the number at the end of their id
 *
 * A list of --cores must lie in the node; auto takes the node that contains it. Pages of a model's
 * file that are already in the page cache do not move.
 *
 * Ownership: plain data.
 * Threading: bind before any other thread is started: threads inherit processors and policy.
 * Errors:    bind: INVALID (the option, or a node that this machine or process does not have), IO
 *            (the kernel rejects the policy), with the reason.
 */
#ifndef BATON_WORKER_CORES_NUMA_H
#define BATON_WORKER_CORES_NUMA_H

#include <sched.h>
#include <stdbool.h>

#include "common/base/error.h"

/* Reads a list of processors as Linux writes it: "0-3,8". A line's end may follow, as in files of
 * /sys. False: it is not such a list, or empty. */
bool baton_cpu_list_parse(const char *list, cpu_set_t *set);

struct baton_numa {
    int node; /* -1: none */
};

struct baton_numa_options {
    const char *numa;  /* "none", "auto" or "node:N" */
    const char *cores; /* "auto", "all" or a list (cores.h) */
    const char *id;    /* the worker's */
    bool is_decode;
    const char *root; /* prefix of /sys, for tests; NULL: none */
};

/* Chooses the node of the options on this machine, among the processors that the process may run on
 * now. Binds nothing. */
enum baton_err baton_numa_choose(const struct baton_numa_options *options, struct baton_numa *numa,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Binds this thread and those it starts to the node that was chosen by these options, and logs
 * it. */
enum baton_err baton_numa_bind(const struct baton_numa_options *options,
                               const struct baton_numa *numa,
                               struct baton_why *why) BATON_MUST_CHECK;

#endif
