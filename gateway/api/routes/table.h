/* The table of routes.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_API_ROUTES_TABLE_H
#define BATON_GATEWAY_API_ROUTES_TABLE_H

#include "gateway/api/route.h"

extern const struct gw_route_table gw_route_table;

#endif
