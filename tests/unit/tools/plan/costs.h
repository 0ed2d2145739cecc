/* Costs that are easily computed with, for the simulator's tests. */
#ifndef BATON_TESTS_UNIT_TOOLS_PLAN_COSTS_H
#define BATON_TESTS_UNIT_TOOLS_PLAN_COSTS_H

#include "tests/support/test.h"
#include "tools/plan/simulate/simulation.h"

static inline void assert_near(double got, double expected, double tolerance)
{
    assert_float_equal((float)got, (float)expected, (float)tolerance);
}

/* A stage that takes the same time whatever it does. */
static inline struct sim_stage_cost constant_cost(double seconds)
{
    return (struct sim_stage_cost){
        .curve = {.n = 1, .at = {1}, .s = {seconds}}, .spread = sim_spread_none(), .beside = 1};
}

/* One core a worker; every pass and every step take so long. */
static inline struct sim_costs constant_costs(double pass_s, double step_s)
{
    return (struct sim_costs){
        .model = "constant",
        .way = sim_spread_none(),
        .n = 1,
        .cores = {{.n_cores = 1, .pass = constant_cost(pass_s), .step = constant_cost(step_s)}}};
}

/* A fleet with more capacity than any test needs; the load is a closed one of one client. */
static inline struct sim_settings roomy_settings(double pass_s, double step_s)
{
    return (struct sim_settings){.costs = constant_costs(pass_s, step_s),
                                 .load = {.name = "requests",
                                          .concurrency = 1,
                                          .n_requests = 100,
                                          .trace_speed = 1,
                                          .max_in_flight = 1 << 20,
                                          .workload = {.seed = 1,
                                                       .prompt = {.min = 64, .max = 64},
                                                       .output = {.min = 8, .max = 8},
                                                       .n_prefixes = 1,
                                                       .trace_scale = 1}},
                                 .n_cores = 1,
                                 .chunk = 128,
                                 .max_batch = 64,
                                 .kv_blocks = 1 << 30,
                                 .prefill_policy = BATON_ROUTING_LEAST_LOADED,
                                 .decode_policy = BATON_ROUTING_LEAST_LOADED,
                                 .max_queued = 1 << 20,
                                 .max_queued_tokens = 1 << 30,
                                 .n_gateways = 1,
                                 .overlap = BATON_OVERLAP_AUTO};
}

#endif
