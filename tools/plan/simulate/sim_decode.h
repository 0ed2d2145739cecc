/* A simulated decode worker: runs one step after another for the max_batch sequences that came
 * first, in blocks that were reserved for the whole request before its prompt ran.
 *
 * Ownership: the worker owns its table; requests are borrowed from reservation to end.
 * Threading: one owner.
 * Errors:    a failure of memory fails the simulation.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_SIM_DECODE_H
#define BATON_TOOLS_PLAN_SIMULATE_SIM_DECODE_H

#include "tools/plan/simulate/shared.h"
#include "tools/plan/simulate/sim_request.h"

struct sim_decode {
    struct sim_engine engine;
    struct sim_nic_queue nic;
    struct sim_request **sequences; /* received and started, in the order of their start */
    int n;
    size_t cap;
    int n_step; /* sequences in the current step */
    uint64_t n_steps, n_tokens;
    double last_step_s;
    uint32_t index;
    /* reservations */
    int64_t n_requests, n_blocks, max_blocks;
    uint64_t turn;
};

void sim_decode_init(struct sim_decode *worker, struct sim_shared *shared, uint32_t index);
void sim_decode_fini(struct sim_decode *worker);

/* True when it has blocks for another request, and soon a slot in its batch. */
bool sim_decode_has_capacity(const struct sim_decode *worker, const struct sim_shared *shared,
                             int64_t n_blocks);

/* Reserves the request's blocks. Precondition: sim_decode_has_capacity. */
void sim_decode_reserve(struct sim_decode *worker, struct sim_request *request);

/* Adds a request to the steps: its context is received and its first token known. */
void sim_decode_start(struct sim_decode *worker, struct sim_shared *shared,
                      struct sim_request *request);

/* Begins a step of its sequences. An idle worker begins as in sim_prefill_begin. */
void sim_decode_begin(struct sim_decode *worker, struct sim_shared *shared);

/* Ends the current step. */
void sim_decode_computed(struct sim_decode *worker, struct sim_shared *shared);

#endif
