/* A route: a method and path with their endpoint, and their description for /openapi.json.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_API_ROUTE_H
#define BATON_GATEWAY_API_ROUTE_H

#include <string.h>

#include "gateway/api/api.h"

/* The kinds of a route's successful answers; a route may have several. None: 204 without a body.
 * The last ones say what its requests are. */
enum {
    GW_ANSWERS_JSON = 1,
    GW_ANSWERS_EVENTS = 2, /* server-sent events */
    GW_ANSWERS_LINES = 4,  /* a JSON object per line */
    GW_ANSWERS_TEXT = 8,
    GW_ANSWERS_FILE = 16,      /* a file of the playground */
    GW_TAKES_NO_BODY = 32,     /* although it is a POST */
    GW_FOR_OPERATORS = 64,     /* other clients get a 403 */
    GW_NAMES_A_SECRET = 128,   /* the path's {id}: logs show its first characters only */
    GW_NAME_HAS_SLASHES = 512, /* the path's {id} is the rest of the path */
    GW_TAKES_FORM = 1024,      /* multipart/form-data, which the endpoint reads itself */
    GW_TAKES_SCALES = 2048,    /* its body is an array of LoraScale, not an object */
    GW_TAKES_BODY = 4096,      /* although it is a DELETE */
    GW_ONLY_ACCEPTS = 256      /* answers 202: the work goes on */
};

struct gw_route {
    const char *method, *path; /* a {name} stands for one segment, see also below */
    gw_endpoint endpoint;
    unsigned answers; /* and the flags of its requests */
    const char *summary;
};

/* The shape of an API's errors. */
struct gw_error_shape {
    const char *name, *schema;                  /* in the document; a JSON schema */
    const char *bad_request;                    /* the status of a bad field; NULL: 400 */
    void (*mark)(struct gw_exchange *exchange); /* gives the exchange's errors this shape */
};

/* The members that errors of all shapes have, in their schemas. */
#define GW_ERROR_DETAILS                                                                           \
    "\"code\":{\"type\":\"string\"},\"param\":{\"type\":[\"string\",\"null\"],"                    \
    "\"description\":\"The field at fault.\"},\"n_prompt_tokens\":{\"type\":\"integer\","          \
    "\"description\":\"The tokens of a prompt that does not fit.\"},\"n_ctx\":{"                   \
    "\"type\":\"integer\",\"description\":\"The tokens that would fit.\"}"
#define GW_ERROR_MEMBERS "\"message\":{\"type\":\"string\"}," GW_ERROR_DETAILS

/* The conventions of another server below a path, also for paths without a route. */
struct gw_route_dialect {
    const char *path; /* itself and everything below it */
    const struct gw_error_shape *errors;
    bool is_typeless; /* its clients send JSON without a content type, or with that of a form */
};

/* What the pool does for large bodies instead of an endpoint. */
struct gw_pool_part {
    gw_endpoint endpoint;
    gw_pool_endpoint on_pool;
};

/* All routes of this API; routes/table.c has the rows. */
struct gw_route_table {
    const struct gw_route *routes; /* [n_routes] */
    size_t n_routes;
    const struct gw_route_dialect *dialects; /* [n_dialects] */
    size_t n_dialects;
    const struct gw_pool_part *pool_parts; /* [n_pool_parts] */
    size_t n_pool_parts;
    const char *(*answer_type)(gw_endpoint endpoint); /* openapi/types.h */
};

/* Whether the path is top or below it. */
static inline bool gw_route_is_below(const char *path, const char *top)
{
    size_t n = strlen(top);
    return !strncmp(path, top, n) && (!path[n] || path[n] == '/');
}

/* Whether the endpoint reads the request's body. */
static inline bool gw_route_takes_body(const struct gw_route *route)
{
    return route->answers & GW_TAKES_BODY ||
           (!strcmp(route->method, "POST") && !(route->answers & GW_TAKES_NO_BODY));
}

#endif
