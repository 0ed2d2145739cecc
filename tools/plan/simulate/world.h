/* All of one simulated fleet, and its clock.
 *
 * Ownership: the world owns workers, requests and records; settings are borrowed.
 * Threading: one owner.
 * Errors:    memory that is out sticks in `failed`.
 */
#ifndef BATON_PLAN_WORLD_H
#define BATON_PLAN_WORLD_H

#include "tools/load/source.h"
#include "tools/plan/simulate/sim_decode.h"
#include "tools/plan/simulate/sim_gateway.h"
#include "tools/plan/simulate/sim_prefill.h"
#include "tools/plan/simulate/simulation.h"

struct sim_world {
    const struct sim_settings *settings;
    struct sim_spread pass_spread, step_spread;
    struct sim_network network;
    int64_t gateway_token_ns;
    int64_t now_ns;
    struct sim_events events;
    struct ld_source source;
    struct ld_records records;
    struct sim_request *requests; /* [source.n_requests] */
    size_t n_started, n_over;
    int64_t ask_ns;   /* when the source is asked next */
    int64_t ended_ns; /* the last answer's end */
    struct sim_gateway gateway;
    struct sim_host host;
    struct sim_prefill *prefills;
    struct sim_decode *decodes;
    int n_prefill, n_decode;
    bool failed;
};

static inline int64_t sim_ns(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

/* The numbers of a worker's n-th pass or step. */
static inline struct ld_rng sim_world_rng(const struct sim_world *world, enum ld_stream stream,
                                          uint32_t worker, uint64_t n)
{
    return ld_rng(world->source.workload.seed, stream, (uint64_t)worker << 40 | n);
}

/* From the end of a prompt's last pass to the gateway. */
static inline int64_t sim_world_after_ns(const struct sim_world *world,
                                         const struct sim_request *request)
{
    const struct sim_costs *costs = &world->settings->costs;
    return sim_ns(costs->after_s * request->way + world->network.latency_s);
}

#endif
