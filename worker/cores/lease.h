/* The core lease: workers of one host use each other's idle cores.
 *
 *     idle --busy(true)--> busy: uses its home and a part of the idle workers' (core_shares.h)
 *      ^                    | every other busy worker notices within one loop of its step
 *      +----busy(false)-----+ its cores are others' at their next loop
 *
 * A worker that dies while busy gives its cores back when another's tick finds its slot unlocked,
 * within 100 ms. One that is stopped (SIGSTOP, a frozen container) keeps its cores for a second,
 * then counts as idle until it beats again. Workers share if they may run on exactly the same
 * processors; other workers do not count.
 *
 * Under a CPU quota of fewer cores than processors, the workers under that quota share its whole
 * cores: as many threads, unpinned, because a quota limits time and other containers use the same
 * processors.
 *
 * Ownership: the lease owns its slot and its view of the table.
 * Threading: open, tick and close on the main thread, with no engine running at open and close;
 *            busy and share on the engine thread.
 * Errors:    open: as table.h; a worker then computes without a lease.
 */
#ifndef BATON_WORKER_CORES_LEASE_H
#define BATON_WORKER_CORES_LEASE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/os/cpu_quota.h"
#include "common/policy/core_shares.h"
#include "engine/engine.h"

struct baton_core_lease;

/* path of the table; allowed: processors, the first 256 of them are shared; quota: over all
 * workers of its group. */
enum baton_err baton_core_lease_open(const char *path, enum baton_core_role role,
                                     const cpu_set_t *allowed, const struct baton_cpu_quota *quota,
                                     struct baton_core_lease **lease,
                                     struct baton_why *why) BATON_MUST_CHECK;
void baton_core_lease_close(struct baton_core_lease *lease);

/* Sets whether the worker has work; costs nothing when that does not change. On becoming busy the
 * call waits until its cores are handed back: microseconds, at most BATON_CORE_HANDOVER_US. */
void baton_core_lease_busy(struct baton_core_lease *lease, bool busy);

/* A baton_share_fn: the processors to use now. One load while no worker's state changes. */
bool baton_core_lease_share(void *lease, struct baton_share *share);

/* Beats, and checks for dead and silent workers. Returns the time of the next call. */
int64_t baton_core_lease_tick(struct baton_core_lease *lease, int64_t now_ns);

enum { BATON_CORE_HANDOVER_US = 1000 };

#endif
