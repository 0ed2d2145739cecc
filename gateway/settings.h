/* The gateway's options, checked beyond their table and turned into what its parts take.
 *
 * Ownership: texts are borrowed from the options.
 * Threading: pure functions.
 * Errors:    INVALID names the option, its value and what it may be.
 */
#ifndef BATON_GATEWAY_SETTINGS_H
#define BATON_GATEWAY_SETTINGS_H

#include "gateway/gateway.h"
#include "gateway/http/server.h"
#include "gateway/routing/routing.h"

/* Checks prefix-cache, too. */
enum baton_err gw_settings_routing(const struct gw_options *options,
                                   struct gw_routing_options *routing,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Without the handler's functions. */
struct gw_http_options gw_settings_http(const struct gw_options *options);

#endif
