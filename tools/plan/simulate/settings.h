/* The input of a simulation, except the layout: costs, load, machines, workers, gateway and
 * network.
 *
 * Ownership: plain data; texts and traces of the load are borrowed.
 * Threading: read-only once made.
 * Errors:    none.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_SETTINGS_H
#define BATON_TOOLS_PLAN_SIMULATE_SETTINGS_H

#include "common/policy/overlap.h"
#include "common/policy/routing_policy.h"
#include "tools/load/workload/slo.h"
#include "tools/load/workload/source.h"
#include "tools/plan/costs/costs.h"
#include "tools/plan/simulate/sim_engine.h"

struct sim_settings {
    struct sim_costs costs;
    struct ld_source load; /* its settings; n_requests are simulated */
    struct ld_slo slo;
    enum sim_cores cores;
    int n_cores;       /* ELASTIC: of the one machine; otherwise of each worker */
    int chunk;         /* rows of a pass, whole blocks */
    int max_batch;     /* sequences of a step */
    int64_t kv_blocks; /* of a decode worker */
    enum baton_routing_policy prefill_policy, decode_policy;
    int64_t max_queued, max_queued_tokens;
    int n_gateways;
    double gateway_token_s; /* gateway time per token */
    enum baton_overlap overlap;
    double gbps, latency_s; /* of the network; 0: as in the calibration */
};

#endif
