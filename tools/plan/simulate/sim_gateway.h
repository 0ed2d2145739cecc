/* The simulated gateway: one queue, first come first served; workers by its own policies
 * (common/policy/routing_policy.h), decode blocks promised before a prompt runs; tokens pass through it one by
 * one.
 *
 * It knows of its workers what a gateway knows exactly, what it placed there and what ended; that a
 * Status tells a little more four times a second is left out.
 *
 * Ownership: the gateway owns its tables; requests and workers are borrowed.
 * Threading: one owner.
 * Errors:    init: NO_MEMORY.
 */
#ifndef BATON_PLAN_SIM_GATEWAY_H
#define BATON_PLAN_SIM_GATEWAY_H

#include "common/base/error.h"
#include "common/policy/routing_policy.h"
#include "tools/plan/simulate/sim_request.h"

struct sim_world;

struct sim_gateway {
    struct sim_request_list queued;
    int64_t n_queued_tokens;
    uint64_t n_turns;
    int64_t *free_ns; /* [gateways] when each is through with what came so far */
    /* scratch, as many as there are workers */
    struct sim_prefill **prefills;
    struct sim_decode **decodes;
    struct baton_routing_prefill_view *prefill_views;
    struct baton_routing_decode_view *decode_views;
};

enum baton_err sim_gateway_init(struct sim_gateway *gateway, int n_gateways, int n_prefill,
                                int n_decode) BATON_MUST_CHECK;
void sim_gateway_fini(struct sim_gateway *gateway);

/* A request comes to the queue, or is refused. */
void sim_gateway_queue(struct sim_world *world, struct sim_request *request);

/* A request's first token came, or all of its answer: its client and the queue go on. */
void sim_gateway_first(struct sim_world *world, struct sim_request *request);
void sim_gateway_ended(struct sim_world *world);

/* A token of the request leaves for its client; returns when it gets there. */
int64_t sim_gateway_tell(struct sim_world *world, struct sim_request *request);

#endif
