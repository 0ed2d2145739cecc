#include "tools/plan/simulate/sim_network.h"

#include <math.h>
#include <stdlib.h>

static int64_t ns_of(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static int64_t later(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

struct sim_network sim_network_make(const struct sim_costs *costs, double gbps, double latency_s,
                                    enum baton_overlap overlap)
{
    double nic_s = gbps > 0 ? 8 * costs->kv_token_bytes / (gbps * 1e9) : 0;
    double token_s = fmax(costs->handoff_token_s, nic_s);
    double state_tokens =
        costs->kv_token_bytes > 0 ? costs->state_bytes / costs->kv_token_bytes : 0;
    return (struct sim_network){.token_s = token_s,
                                .state_s = state_tokens * token_s,
                                .fixed_s = costs->handoff_s + latency_s,
                                .latency_s = latency_s,
                                .last_part = costs->n_layers ? 1.0 / costs->n_layers : 0,
                                .overlap = overlap};
}

int64_t sim_network_send(const struct sim_network *network, struct sim_nic_queue *from,
                         struct sim_nic_queue *to, const struct sim_sent *sent)
{
    double whole_s = (double)sent->n_tokens * network->token_s;
    double state_s = sent->is_last ? network->state_s : 0;
    bool overlaps = sent->overlaps;
    int64_t began_ns = sent->began_ns, ended_ns = sent->ended_ns;
    int64_t ready_ns = overlaps ? began_ns : ended_ns;
    /* A transfer occupies both NICs, so it begins when both are free. */
    int64_t begin_ns = later(ready_ns, later(from->free_ns, to->free_ns));
    int64_t end_ns = begin_ns + ns_of(whole_s);
    if (overlaps)
        end_ns = later(end_ns, ended_ns + ns_of(whole_s * network->last_part));
    end_ns += ns_of(state_s); /* it is complete when the prompt is */
    from->free_ns = to->free_ns = end_ns;
    from->busy_s += whole_s + state_s;
    to->busy_s += whole_s + state_s;
    return end_ns;
}

/* ---- tokens to clients ---- */

enum baton_err sim_relay_init(struct sim_relay *relay)
{
    relay->free_ns = calloc((size_t)relay->n_gateways, sizeof *relay->free_ns);
    return relay->free_ns ? BATON_OK : BATON_NO_MEMORY;
}

void sim_relay_fini(struct sim_relay *relay)
{
    free(relay->free_ns);
    relay->free_ns = NULL;
}

int64_t sim_relay_token(struct sim_relay *relay, struct ld_record *record, int64_t now_ns)
{
    /* One gateway serves a request to its end, as a client's connection does. */
    int64_t *free_ns = &relay->free_ns[record->plan.index % (uint64_t)relay->n_gateways];
    int64_t begin_ns = *free_ns > now_ns ? *free_ns : now_ns;
    *free_ns = begin_ns + relay->token_ns;
    int64_t arrived_ns = *free_ns + relay->latency_ns;
    if (!ld_record_arrival(record, arrived_ns))
        relay->failed = true;
    return arrived_ns;
}
