/* The fleet's abilities (fleet.h): the roles and numeric classes that its workers serve, and the
 * longest context that they hold. */
#include "gateway/fleet/fleet.h"

static gw_class_set classes_in(const struct gw_fleet *fleet, Baton__V1__Role role,
                               enum gw_worker_state state)
{
    gw_class_set set = GW_NO_CLASS;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == role && worker->state == state)
            set |= gw_class_set_of(worker->numeric_class);
    return set;
}

gw_class_set gw_fleet_ready(const struct gw_fleet *fleet, Baton__V1__Role role)
{
    return classes_in(fleet, role, GW_WORKER_READY);
}

gw_class_set gw_fleet_serves(const struct gw_fleet *fleet, Baton__V1__Role role)
{
    return gw_fleet_ready(fleet, role) | classes_in(fleet, role, GW_WORKER_SUSPECT);
}

/* Time in which the gateway itself was suspended does not count, because no worker could join. */
static bool is_recent(const struct gw_fleet *fleet, int64_t since_ns, int64_t now_ns)
{
    if (since_ns < fleet->awake_ns)
        since_ns = fleet->awake_ns;
    return now_ns - since_ns < fleet->options.absence_ns;
}

gw_class_set gw_fleet_expects(const struct gw_fleet *fleet, Baton__V1__Role role, int64_t now_ns)
{
    gw_class_set set = gw_fleet_serves(fleet, role);
    for (int i = 0; i < GW_MAX_CLASSES; i++)
        if (is_recent(fleet, fleet->classes.places[i].served_ns[role], now_ns))
            set |= gw_class_set_of(&fleet->classes.places[i]);
    return set;
}

bool gw_fleet_awaits(const struct gw_fleet *fleet, Baton__V1__Role role, int64_t now_ns)
{
    return is_recent(fleet, fleet->served_ns[role], now_ns) && !gw_fleet_serves(fleet, role);
}

size_t gw_fleet_n(const struct gw_fleet *fleet, Baton__V1__Role role, enum gw_worker_state state)
{
    return fleet->census.n[role][state];
}

/* Tokens of the largest KV cache of a role; 0 without a worker. */
static int64_t largest_pool(const struct gw_fleet *fleet, Baton__V1__Role role)
{
    int64_t n = 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == role && worker->status.kv_blocks_total > n)
            n = worker->status.kv_blocks_total;
    return n * fleet->terms.kv_block_tokens;
}

static int64_t at_most(int64_t pool_tokens, int64_t context_tokens)
{
    return pool_tokens && pool_tokens < context_tokens ? pool_tokens : context_tokens;
}

/* The last token of an output is never an input, so it takes no position. */
int64_t gw_fleet_context_tokens(const struct gw_fleet *fleet)
{
    int64_t pool = largest_pool(fleet, BATON__V1__ROLE__ROLE_DECODE);
    return at_most(pool ? pool + 1 : 0, fleet->options.identity.facts->n_context_tokens);
}

int64_t gw_fleet_prompt_tokens(const struct gw_fleet *fleet)
{
    return at_most(largest_pool(fleet, BATON__V1__ROLE__ROLE_PREFILL),
                   gw_fleet_context_tokens(fleet));
}
