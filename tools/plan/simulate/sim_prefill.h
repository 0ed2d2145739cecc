/* A simulated prefill worker: passes of at most `chunk` rows, shared among its prompts by the
 * worker's own rule (common/policy/prefill_scheduler.h).
 *
 * Ownership: the worker owns its tables; requests are borrowed until their prompts are computed.
 * Threading: one owner.
 * Errors:    a failure of memory fails the simulation.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_SIM_PREFILL_H
#define BATON_TOOLS_PLAN_SIMULATE_SIM_PREFILL_H

#include "common/policy/prefill_scheduler.h"
#include "tools/plan/simulate/shared.h"
#include "tools/plan/simulate/sim_request.h"
#include "worker/pace.h"

struct sim_prefill {
    struct sim_engine engine;
    struct sim_nic_queue nic;
    struct sim_request **held;                  /* in the order of arrival */
    struct baton_prefill_candidate *candidates; /* [n_held] */
    int n_held;
    size_t cap_held, cap_candidates;
    struct baton_prefill_chunk chunks[BATON_PREFILL_MAX_CHUNKS]; /* the current pass */
    int n_chunks;
    struct baton_rate rate;
    uint64_t n_passes, n_rows;
    uint32_t index;
    /* known to the gateway */
    int64_t n_queued_tokens; /* of prompts without a first token */
    uint64_t turn;
};

void sim_prefill_init(struct sim_prefill *worker, struct sim_shared *shared, uint32_t index);
void sim_prefill_fini(struct sim_prefill *worker);

/* Adds a request whose prompt the worker computes. */
void sim_prefill_add(struct sim_prefill *worker, struct sim_shared *shared,
                     struct sim_request *request);

/* Begins a pass of the prompts that it holds. An idle worker begins at the end of the moment in
 * which its first request came (SIM_BEGIN), so that requests which come together share the pass. */
void sim_prefill_begin(struct sim_prefill *worker, struct sim_shared *shared);

/* Ends the current pass. */
void sim_prefill_computed(struct sim_prefill *worker, struct sim_shared *shared);

#endif
