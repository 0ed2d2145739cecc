/* The relay of tokens from the workers to their clients: each gateway relays one token at a time.
 *
 * This is the gateways' time per token, apart from the queue and the routing (sim_gateway.h), so
 * that a decode worker can send tokens without knowing those.
 *
 * Ownership: the relay owns its table; records are borrowed.
 * Threading: one owner.
 * Errors:    init: NO_MEMORY. A record without memory for a token sets `failed`.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_SIM_RELAY_H
#define BATON_TOOLS_PLAN_SIMULATE_SIM_RELAY_H

#include "tools/load/workload/record.h"

struct sim_relay {
    int n_gateways;
    int64_t token_ns;   /* gateway time per token */
    int64_t latency_ns; /* of the network, one way */
    int64_t *free_ns;   /* [n_gateways]; when each has relayed all tokens so far */
    bool failed;
};

/* Allocates free_ns; the other members are set. */
enum baton_err sim_relay_init(struct sim_relay *relay) BATON_MUST_CHECK;
void sim_relay_fini(struct sim_relay *relay);

/* Relays a token of the record's request, which leaves its worker at now_ns, and adds it to the
 * record. Returns when it reaches the client. */
int64_t sim_relay_token(struct sim_relay *relay, struct ld_record *record, int64_t now_ns);

#endif
