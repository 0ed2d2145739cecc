/* The types of the answers of the routes, as gateway/api/openapi/answers.c describes them.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_API_ROUTES_ANSWERS_H
#define BATON_GATEWAY_API_ROUTES_ANSWERS_H

#include "gateway/api/api.h"

/* The type (openapi/types.h) of an endpoint's answer in JSON; "object" if the table lacks it. */
const char *gw_route_answer_type(gw_endpoint endpoint);

#endif
