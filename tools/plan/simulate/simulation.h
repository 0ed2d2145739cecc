/* One run of a simulated fleet under a load: which requests it got is what `baton-load` with
 * the same seed would have sent, and what became of them is told in the same records and figures.
 *
 * Left out: prefix caches, prompts that decode workers run, deadlines and predicted waits
 * (requests wait as long as the queue has room), failures, slow and leaving clients, and the
 * prefill workers' own KV memory.
 *
 * Ownership: settings are borrowed; results are plain values.
 * Threading: pure functions; nothing is shared.
 * Errors:    NO_MEMORY; INTERNAL when a request was lost, which would be a bug.
 */
#ifndef BATON_PLAN_SIMULATION_H
#define BATON_PLAN_SIMULATION_H

#include "common/policy/routing_policy.h"
#include "tools/load/figures.h"
#include "tools/load/source.h"
#include "tools/plan/costs/costs.h"
#include "tools/plan/simulate/layouts.h"
#include "tools/plan/simulate/network.h"
#include "tools/plan/simulate/sim_engine.h"

struct sim_settings {
    struct sim_costs costs;
    struct ld_source load; /* its settings; n_requests of it are simulated */
    struct ld_slo slo;
    enum sim_cores cores;
    int n_cores;       /* ELASTIC: of the one machine; else of each worker */
    int chunk;         /* rows of a pass, whole blocks */
    int max_batch;     /* sequences of a step */
    int64_t kv_blocks; /* of a decode worker */
    enum baton_routing_policy prefill_policy, decode_policy;
    int64_t max_queued, max_queued_tokens;
    int n_gateways;
    double gateway_token_s; /* that a gateway is busy with a token */
    enum baton_overlap overlap;
    double gbps, latency_s; /* of the network; 0: as calibrated */
};

struct sim_results {
    struct sim_layout layout;
    struct ld_figures figures;
    double prefill_busy, decode_busy; /* shares of the window, means of the role */
    double mean_rows, mean_batch;     /* of a pass, of a step; NAN: there was none */
    double nic_busy;                  /* of the busiest decode worker's */
    uint64_t n_events;
    double simulated_s, wall_s;
};

enum baton_err sim_run(const struct sim_settings *settings, const struct sim_layout *layout,
                       struct sim_results *results, struct baton_why *why) BATON_MUST_CHECK;

#endif
