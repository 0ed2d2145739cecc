/* A network of given bandwidth and latency, emulated by the kernel in the process's own namespace:
 * its loopback gets a queueing discipline (tc netem, or tbf where only the bandwidth is limited and
 * the kernel has no netem).
 *
 * Ownership: the namespace ends with the process.
 * Threading: enter before the first thread or socket is created: both stay where they began.
 * Errors:    IO with the reason: no right to a namespace, no tc, no such discipline in this kernel.
 */
#ifndef BATON_BENCH_HANDOFF_NETWORK_H
#define BATON_BENCH_HANDOFF_NETWORK_H

#include "bench/handoff/cost.h"
#include "common/base/error.h"

enum baton_err ho_network_enter(const struct ho_network *network,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
