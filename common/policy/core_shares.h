/* Divides a machine's cores among its workers.
 *
 * Every core is the home of a worker. First the roles divide the cores in proportion to their
 * numbers of workers, each role keeping at least one, so that prompts and steps do not meet while
 * there are two cores; then the workers of a role divide theirs evenly, in order. When workers
 * outnumber cores, several share a home.
 *
 * A busy worker uses its home and, with the other busy workers, the homes of the idle ones: a core
 * that is no busy worker's home goes to the worker that has the fewest so far. So while any worker
 * is busy each core has exactly one user, and busy workers share cores only when they outnumber
 * them.
 *
 * Pure. Every worker computes the same division from the same table.
 */
#ifndef BATON_COMMON_POLICY_CORE_SHARES_H
#define BATON_COMMON_POLICY_CORE_SHARES_H

#include <stdbool.h>

enum { BATON_CORES_MAX = 256, BATON_CORE_WORKERS_MAX = 64 };

enum baton_core_role { BATON_CORE_PREFILL, BATON_CORE_DECODE };

struct baton_core_worker {
    enum baton_core_role role;
    bool busy;
};

/* Writes the cores 0..n_cores-1 that workers[me] uses when it is busy into cores [n_cores], those
 * of its home first, and returns their number, at least one. Workers are in the order of their
 * slots. */
int baton_core_share(const struct baton_core_worker *workers, int n_workers, int me, int n_cores,
                     int *cores);

#endif
