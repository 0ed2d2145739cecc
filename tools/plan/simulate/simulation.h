/* One run of a simulated fleet under a load. It gets the requests that `baton-load` with the same
 * seed would send, and reports the same records and figures.
 *
 * Not simulated: prefix caches, prompts that decode workers run, deadlines and predicted waits
 * (requests wait as long as the queue has capacity), failures, slow and leaving clients, and the
 * prefill workers' own KV memory.
 *
 * Ownership: settings are borrowed; results are plain values.
 * Threading: pure functions; nothing is shared.
 * Errors:    NO_MEMORY; INTERNAL when a request was lost, which would be a bug.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_SIMULATION_H
#define BATON_TOOLS_PLAN_SIMULATE_SIMULATION_H

#include "tools/load/report/figures.h"
#include "tools/plan/simulate/layouts.h"
#include "tools/plan/simulate/settings.h"

struct sim_results {
    struct sim_layout layout;
    struct ld_figures figures;
    double prefill_busy, decode_busy; /* shares of the window; means of the role */
    double mean_rows, mean_batch;     /* of a pass, of a step; NAN if there was none */
    double nic_busy;                  /* of the busiest decode worker */
    uint64_t n_events;
    double simulated_s, wall_s;
};

enum baton_err sim_run(const struct sim_settings *settings, const struct sim_layout *layout,
                       struct sim_results *results, struct baton_why *why) BATON_MUST_CHECK;

#endif
