/* The exposure of a gateway: what strangers who reach its addresses could do with its options.
 *
 * Pure, except for the log. A host counts as reachable unless it is a loopback address, because the
 * process cannot see the network around it (a container's network, a firewall).
 */
#ifndef BATON_GATEWAY_API_ACCESS_EXPOSURE_H
#define BATON_GATEWAY_API_ACCESS_EXPOSURE_H

#include "common/wire/cluster_token.h"

/* The addresses that strangers may reach, and the options that protect them; "": not set. */
struct gw_doors {
    const char *host, *inbox, *api_keys, *peer_certfile;
    bool require_auth; /* an unprotected address is an error */
};

struct gw_exposure {
    size_t n;
    const char *warnings[2]; /* sentences for the operator */
};

/* Logs each warning as open_to_all; with --require-auth the first one is the error. */
enum baton_err gw_exposure_check(const struct gw_doors *doors,
                                 const struct baton_cluster_token *token,
                                 struct gw_exposure *exposure,
                                 struct baton_why *why) BATON_MUST_CHECK;

#endif
