#include "tools/plan/simulate/sim_relay.h"

#include <stdlib.h>

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
