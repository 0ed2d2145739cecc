/* The gateway's options, turned into what its parts take. Texts are borrowed from the options.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_SETTINGS_H
#define BATON_GATEWAY_SETTINGS_H

#include "gateway/gateway.h"
#include "gateway/http/server.h"
#include "gateway/routing/routing.h"

struct gw_routing_options gw_settings_routing(const struct gw_options *options);

/* Without the handler's functions. */
struct gw_http_options gw_settings_http(const struct gw_options *options);

#endif
