#include "gateway/api/routes/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/array.h"
#include "common/base/random.h"
#include "gateway/api/access/access.h"
#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"
#include "gateway/api/completion/completion.h"
#include "gateway/api/routes/bodies.h"
#include "gateway/api/routes/debug_kv.h"
#include "gateway/api/routes/table.h"
#include "gateway/api/streams/streams.h"
#include "gateway/http/status.h"

enum { ALLOW_BYTES = 32 /* all the methods there are */ };

/* Whether a route has this very path; others with a {name} in its place then do not lead to it. */
static bool is_literal(const char *path)
{
    size_t i = 0;
    while (i < gw_route_table.n_routes && strcmp(gw_route_table.routes[i].path, path) != 0)
        i++;
    return i < gw_route_table.n_routes && !strchr(path, '{');
}

/* Whether the path is the pattern, in which each {name} stands for one segment, or for the rest. */
static bool matches(const char *pattern, const char *path, const char *ends)
{
    while (*pattern) {
        if (*pattern == '{') {
            size_t n = strcspn(path, ends);
            if (!n)
                return false;
            path += n;
            pattern = strchr(pattern, '}') + 1;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return !*path;
}

static bool leads_to(const char *path, const struct gw_route *route)
{
    if (!strchr(route->path, '{'))
        return !strcmp(route->path, path);
    return matches(route->path, path, route->answers & GW_NAME_HAS_SLASHES ? "" : "/") &&
           !is_literal(path);
}

static bool is_path(const char *path)
{
    for (size_t i = 0; i < gw_route_table.n_routes; i++)
        if (leads_to(path, &gw_route_table.routes[i]))
            return true;
    return false;
}

/* Gives a path of OpenAI's or Anthropic's API the name that the table has. Clients leave "/v1" out,
 * or have it in their base URL and in their path. */
static void name_path(struct gw_exchange *exchange)
{
    static const char top[] = "/v1";
    size_t n = sizeof top - 1;
    const char *path = gw_exchange_path(exchange);
    if (is_path(path))
        return;
    if (gw_route_is_below(path, top) && gw_route_is_below(path + n, top)) {
        gw_exchange_cut_path(exchange, n);
        return;
    }
    gw_exchange_prefix_path(exchange, top);
    if (!is_path(gw_exchange_path(exchange)))
        gw_exchange_cut_path(exchange, n);
}

/* ---- other servers' APIs ---- */

static const struct gw_route_dialect *dialect_of(const struct gw_exchange *exchange)
{
    const char *path = gw_exchange_path(exchange);
    for (size_t i = 0; i < gw_route_table.n_dialects; i++)
        if (gw_route_is_below(path, gw_route_table.dialects[i].path))
            return &gw_route_table.dialects[i];
    return NULL;
}

/* ---- types of bodies ---- */

static bool is_type(const char *content_type, const char *type)
{
    size_t n = strlen(type);
    return !strncasecmp(content_type, type, n) &&
           (!content_type[n] || content_type[n] == ';' || content_type[n] == ' ');
}

/* True unless a web page sent the request: every browser sends one of these with a page's POST. A
 * page of another origin can send a form without a preflight. */
static bool is_of_program(const struct gw_exchange *exchange)
{
    static const char *const marks[] = {"origin", "sec-fetch-site", "sec-fetch-mode", "referer",
                                        "cookie"};
    for (size_t i = 0; i < BATON_N_OF(marks); i++)
        if (*gw_exchange_header(exchange, marks[i]))
            return false;
    return true;
}

/* curl sends JSON with the type of a form unless it is told another one. */
static bool is_form_of_json(const struct gw_exchange *exchange, const char *content_type)
{
    size_t n;
    const char *body = gw_exchange_body(exchange, &n);
    if (!is_type(content_type, "application/x-www-form-urlencoded") || !is_of_program(exchange))
        return false;
    body += strspn(body, " \t\r\n");
    return *body == '{' || *body == '[';
}

/* Ollama requires no content type. */
static bool needs_no_type(const struct gw_exchange *exchange)
{
    const struct gw_route_dialect *dialect = dialect_of(exchange);
    return dialect && dialect->is_typeless && !*gw_exchange_header(exchange, "origin");
}

static bool has_json(const struct gw_exchange *exchange)
{
    const char *type = gw_exchange_header(exchange, "content-type");
    return !*type || is_type(type, "application/json") || is_form_of_json(exchange, type) ||
           needs_no_type(exchange);
}

/* ---- bodies ---- */

static gw_pool_endpoint pool_endpoint_of(const struct gw_route *route)
{
    for (size_t i = 0; i < gw_route_table.n_pool_parts; i++)
        if (gw_route_table.pool_parts[i].endpoint == route->endpoint)
            return gw_route_table.pool_parts[i].on_pool;
    return NULL;
}

/* Runs an endpoint that needs no body. */
static void run(struct gw_api *api, struct gw_exchange *exchange, const struct gw_route *route)
{
    struct gw_api *chosen = gw_model_of_request(api, exchange, NULL);
    if (chosen)
        route->endpoint(chosen, exchange, NULL);
}

static void post(struct gw_api *api, struct gw_exchange *exchange, const struct gw_route *route)
{
    if (route->answers & GW_TAKES_FORM)
        run(api, exchange, route);
    else if (has_json(exchange))
        gw_bodies_read(api, exchange, route->endpoint, pool_endpoint_of(route));
    else
        gw_answer_error(exchange, 415, "unsupported_media_type",
                        "Content-Type must be application/json");
}

void gw_routes_resume(struct gw_exchange *exchange)
{
    gw_bodies_resume(exchange);
}

/* ---- routes ---- */

/* The route of the request's path and method, or NULL. */
static const struct gw_route *route_of(const struct gw_exchange *exchange)
{
    const char *method = gw_exchange_method(exchange), *path = gw_exchange_path(exchange);
    if (!strcmp(method, "HEAD"))
        method = "GET"; /* the HTTP server omits the body */
    for (size_t i = 0; i < gw_route_table.n_routes; i++)
        if (leads_to(path, &gw_route_table.routes[i]) &&
            !strcmp(gw_route_table.routes[i].method, method))
            return &gw_route_table.routes[i];
    return NULL;
}

/* The bytes of the path that logs may show, if a secret follows; 0: all of it. For any method: a
 * mistake must not show the secret either. */
static size_t n_shown(const char *path)
{
    for (size_t i = 0; i < gw_route_table.n_routes; i++) {
        const struct gw_route *route = &gw_route_table.routes[i];
        size_t n = strcspn(route->path, "{");
        if (route->answers & GW_NAMES_A_SECRET && !strncmp(route->path, path, n))
            return n + BATON_SECRET_SHOWN_BYTES;
    }
    return 0;
}

const struct gw_error *gw_routes_head(struct gw_api *api, struct gw_exchange *exchange)
{
    const struct gw_route_dialect *dialect = dialect_of(exchange); /* of the path as it was sent */
    name_path(exchange);
    if (!dialect)
        dialect = dialect_of(exchange);
    const struct gw_route *route = route_of(exchange);
    gw_exchange_note(exchange)->path_show_bytes = n_shown(gw_exchange_path(exchange));
    if (dialect)
        dialect->errors->mark(exchange);
    return gw_access_mark(api->access, exchange, route && gw_route_takes_body(route));
}

/* Lists the methods of a path in allow [ALLOW_BYTES]; "" if there is no such path. */
static void list_methods(const char *path, char *allow)
{
    size_t n = 0;
    allow[0] = '\0';
    for (size_t i = 0; i < gw_route_table.n_routes; i++)
        if (leads_to(path, &gw_route_table.routes[i]))
            n += (size_t)snprintf(allow + n, ALLOW_BYTES - n, "%s%s", n ? ", " : "",
                                  gw_route_table.routes[i].method);
}

static void refuse_path(struct gw_exchange *exchange)
{
    char allow[ALLOW_BYTES];
    list_methods(gw_exchange_path(exchange), allow);
    if (*allow)
        gw_exchange_respond_error(exchange,
                                  &(struct gw_error){.status = 405,
                                                     .code = "method_not_allowed",
                                                     .message = "this path takes another method",
                                                     .allow = allow});
    else
        gw_answer_error(exchange, 404, "not_found", "no such path");
}

void gw_routes_request(struct gw_api *api, struct gw_exchange *exchange)
{
    const struct gw_route *route = route_of(exchange);
    if (!gw_access_admit(api->access, exchange, route && route->answers & GW_FOR_OPERATORS))
        return;
    if (!route)
        refuse_path(exchange);
    else if (gw_route_takes_body(route))
        post(api, exchange, route);
    else
        run(api, exchange, route);
}

/* ---- clients that leave or are slow ---- */

void gw_routes_gone(struct gw_exchange *exchange, const char *reason)
{
    enum gw_exchange_user *user = gw_exchange_data(exchange);
    if (!user)
        return;
    switch (*user) {
    case GW_USER_COMPLETION:
        gw_completion_gone(gw_exchange_data(exchange), reason);
        break;
    case GW_USER_STREAM:
        gw_streams_left(gw_exchange_data(exchange), reason);
        break;
    case GW_USER_KV_DEBUG:
        gw_kv_debug_gone(exchange);
        break;
    case GW_USER_PARSE:
        gw_bodies_gone(exchange);
        break;
    case GW_USER_OTHER: {
        struct gw_other_user *other = gw_exchange_data(exchange);
        other->gone(other);
        break;
    }
    }
}

void gw_routes_full(struct gw_exchange *exchange, bool full)
{
    enum gw_exchange_user *user = gw_exchange_data(exchange);
    if (user && *user == GW_USER_COMPLETION)
        gw_completion_full(gw_exchange_data(exchange), full);
    else if (user && *user == GW_USER_STREAM)
        gw_stream_full(gw_exchange_data(exchange), full);
    else if (user && *user == GW_USER_OTHER && ((struct gw_other_user *)(void *)user)->full)
        ((struct gw_other_user *)(void *)user)->full((struct gw_other_user *)(void *)user, full);
}
