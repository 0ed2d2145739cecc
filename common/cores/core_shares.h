/* Who of a host's workers computes on which core: the rule, and nothing but the rule.
 *
 * Every core is somebody's home. First the roles divide the cores by their number of workers, each
 * role keeping at least one, so that prompts and steps do not meet while there are two cores; then
 * the workers of a role divide theirs evenly, in order. Workers that outnumber cores share homes.
 *
 * A busy worker uses its home and, with the other busy ones, the homes of the idle: a core that no
 * busy worker calls home goes to whoever has the fewest so far. So whenever somebody is busy each
 * core has exactly one user, and only when the busy outnumber the cores do some share theirs.
 *
 * Ownership: nothing.
 * Threading: pure functions. Every worker finds the same answer from the same table.
 * Errors:    none.
 */
#ifndef BATON_CORES_CORE_SHARES_H
#define BATON_CORES_CORE_SHARES_H

#include <stdbool.h>

enum { BATON_CORES_MAX = 256, BATON_CORE_WORKERS_MAX = 64 };

enum baton_core_role { BATON_CORE_PREFILL, BATON_CORE_DECODE };

struct baton_core_worker {
    enum baton_core_role role;
    bool busy;
};

/* The cores 0..n_cores-1 that workers[me] uses when it is busy, into cores [n_cores], those of its
 * home first; returns how many, at least one. Workers are in the order of their slots. */
int baton_core_share(const struct baton_core_worker *workers, int n_workers, int me, int n_cores,
                     int *cores);

#endif
