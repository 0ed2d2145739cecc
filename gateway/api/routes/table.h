/* The table of routes: what requests are led by, and what /openapi.json is made of.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_API_ROUTES_TABLE_H
#define BATON_GATEWAY_API_ROUTES_TABLE_H

#include "gateway/api/api.h"

/* What a route answers with when all is well; several go together. None: 204, without a body. */
enum {
    GW_ANSWERS_JSON = 1,
    GW_ANSWERS_EVENTS = 2, /* server-sent events */
    GW_ANSWERS_LINES = 4,  /* a JSON object per line */
    GW_ANSWERS_TEXT = 8,
    GW_ANSWERS_FILE = 16 /* of the playground */
};

struct gw_route {
    const char *method, *path; /* {name} stands for one segment of the path */
    gw_endpoint endpoint;
    unsigned answers;
    const char *summary;
};

extern const struct gw_route gw_routes[];
extern const size_t gw_n_routes;

/* Where errors have the shape of another server's API, also those of a path that is not there. */
struct gw_route_dialect {
    const char *path; /* and what is below it */
    void (*mark)(struct gw_exchange *exchange);
    const char *error; /* the schema of its errors in the document */
};

extern const struct gw_route_dialect gw_route_dialects[];
extern const size_t gw_n_route_dialects;

bool gw_route_is_below(const char *path, const char *top);
bool gw_route_takes_body(const struct gw_route *route);

#endif
