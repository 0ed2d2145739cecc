/* The network between prefill and decode workers, and from there to clients. A worker's NIC sends
 * or receives one context at a time; the others wait in its queue.
 *
 * A context that overlaps leaves layer by layer while it is computed. Only the last layer of its
 * last pass cannot. Any other context leaves when its prompt is computed. The time of a hand-off
 * beyond its bytes (messages, copying) is the calibration's handoff_s.
 *
 * Ownership: NIC queues are embedded in workers. The relay owns its table; records are borrowed.
 * Threading: one owner.
 * Errors:    sim_relay_init: NO_MEMORY. A record without memory for a token sets `failed`.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_SIM_NETWORK_H
#define BATON_TOOLS_PLAN_SIMULATE_SIM_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/policy/overlap.h"
#include "tools/load/workload/record.h"
#include "tools/plan/costs/costs.h"

struct sim_network {
    double token_s;   /* of one token's KV through a NIC */
    double state_s;   /* of a context's state, which leaves when its prompt is computed */
    double fixed_s;   /* of every hand-off, including latency */
    double latency_s; /* of every message, one way, beyond the calibration's */
    double last_part; /* share of a pass that cannot leave before its end, 0..1 */
    enum baton_overlap overlap;
};

struct sim_nic_queue {
    int64_t free_ns; /* time from which it is empty */
    double busy_s;
};

/* Returns a network of that speed; with gbps or latency_s 0, as in the calibration. */
struct sim_network sim_network_make(const struct sim_costs *costs, double gbps, double latency_s,
                                    enum baton_overlap overlap);

/* What is sent of a context: the tokens of a pass (overlapping) or all of them. */
struct sim_sent {
    int64_t n_tokens;
    bool overlaps, is_last;     /* last: the prompt is computed */
    int64_t began_ns, ended_ns; /* of the pass */
};

/* Returns when the last of it is received. */
int64_t sim_network_send(const struct sim_network *network, struct sim_nic_queue *from,
                         struct sim_nic_queue *to, const struct sim_sent *sent);

/* The relay of tokens from the workers to their clients: each gateway relays one token at a time.
 * This is the gateways' time per token, apart from the queue and the routing (sim_gateway.h), so
 * that a decode worker can send tokens without knowing those. */
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
