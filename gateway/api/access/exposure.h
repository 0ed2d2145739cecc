/* What everybody who reaches this gateway's addresses could do, as it is started.
 *
 * Pure but for the log. A host counts as reachable unless it is a loopback address: what is between
 * it and the world (a container's network, a firewall) the process cannot see.
 */
#ifndef BATON_GATEWAY_API_ACCESS_EXPOSURE_H
#define BATON_GATEWAY_API_ACCESS_EXPOSURE_H

#include "common/wire/cluster_token.h"

/* Which doors there are, and what guards them; "" where there is none. */
struct gw_doors {
    const char *host, *inbox, *api_keys, *peer_certfile;
    bool require_auth; /* clients without a key are an error */
};

struct gw_exposure {
    size_t n;
    const char *warnings[2]; /* sentences for an operator */
};

/* Each warning is logged as open_to_all; with --require-auth the first is the error. */
enum baton_err gw_exposure_check(const struct gw_doors *doors,
                                 const struct baton_cluster_token *token,
                                 struct gw_exposure *exposure,
                                 struct baton_why *why) BATON_MUST_CHECK;

#endif
