/* The parts that all of a simulated cluster share: the clock, the events, the network, the machine.
 *
 * Ownership: the cluster's (simulation.c); settings are borrowed.
 * Threading: one owner.
 * Errors:    a failure of memory sets `failed`, which ends the simulation.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_SHARED_H
#define BATON_TOOLS_PLAN_SIMULATE_SHARED_H

#include "tools/plan/simulate/event_queue.h"
#include "tools/plan/simulate/settings.h"
#include "tools/plan/simulate/sim_network.h"

struct sim_shared {
    const struct sim_settings *settings;
    struct sim_spread pass_spread, step_spread;
    int64_t now_ns;
    struct sim_events events;
    struct sim_network network;
    struct sim_relay relay;
    struct sim_host host;
    bool failed;
};

static inline int64_t sim_ns(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

/* Returns the random numbers of a worker's n-th pass or step. */
static inline struct ld_rng sim_rng(const struct sim_shared *shared, enum ld_stream stream,
                                    uint32_t worker, uint64_t n)
{
    return ld_rng(shared->settings->load.workload.seed, stream, (uint64_t)worker << 40 | n);
}

#endif
