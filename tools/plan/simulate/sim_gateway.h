/* The simulated gateway: one queue, first come, first served. It routes by the gateway's own
 * policies (common/policy/routing_policy.h), and reserves decode blocks before a prompt runs.
 * sim_network.h has the gateway time of a token.
 *
 * It knows exactly the requests that it routed to its workers and those that ended. It has no
 * Status, from which a real gateway learns a little more four times a second.
 *
 * Ownership: the gateway owns its scratch; requests and workers are borrowed.
 * Threading: one owner.
 * Errors:    init: NO_MEMORY.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_SIM_GATEWAY_H
#define BATON_TOOLS_PLAN_SIMULATE_SIM_GATEWAY_H

#include "tools/plan/simulate/sim_decode.h"
#include "tools/plan/simulate/sim_prefill.h"

struct sim_gateway {
    struct sim_shared *shared;
    struct sim_prefill *prefills; /* [n_prefill] */
    struct sim_decode *decodes;   /* [n_decode] */
    int n_prefill, n_decode;
    struct sim_request_list queued;
    int64_t n_queued_tokens;
    uint64_t n_turns;
    /* Scratch: workers that may be chosen, and their views. */
    struct sim_prefill **prefill_candidates;
    struct sim_decode **decode_candidates;
    struct baton_routing_prefill_view *prefill_views;
    struct baton_routing_decode_view *decode_views;
};

/* Initialises the rest; shared, the workers and their numbers are set. */
enum baton_err sim_gateway_init(struct sim_gateway *gateway) BATON_MUST_CHECK;
void sim_gateway_fini(struct sim_gateway *gateway);

/* Adds a request to the queue, or refuses it. */
void sim_gateway_queue(struct sim_gateway *gateway, struct sim_request *request);

/* Handle a request's first token or its end: its client and the queue continue. */
void sim_gateway_first(struct sim_gateway *gateway, struct sim_request *request);
void sim_gateway_ended(struct sim_gateway *gateway);

#endif
