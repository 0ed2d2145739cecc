#include "gateway/api/access/cors.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "gateway/api/access/hosts.h"

/* ---- the configured origins ---- */

/* Whether the text has only lower-case letters, digits and the given marks. */
static bool is_made_of(struct gw_view text, const char *marks)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && !(c && strchr(marks, c)))
            return false;
    }
    return text.n > 0;
}

/* scheme "://" host [":" port]. Stricter than a browser needs: an origin that could never match
 * ("*.example", a path, a capital) is a mistake of the operator, and an error. */
static bool is_origin(struct gw_view text)
{
    struct gw_view host = text, scheme = gw_view_cut(&host, ':');
    if (text.n > GW_CORS_MAX_ORIGIN_BYTES || host.n < 2 || memcmp(host.p, "//", 2) != 0)
        return false;
    host = (struct gw_view){host.p + 2, host.n - 2};
    return is_made_of(scheme, "+-.") && is_made_of(host, "-._:[]");
}

static enum baton_err add_origin(struct gw_cors *cors, struct gw_view origin, struct baton_why *why)
{
    if (gw_view_equals(origin, "localhost")) {
        cors->local = true;
        return BATON_OK;
    }
    if (!is_origin(origin))
        return baton_fail(why, BATON_INVALID,
                          "cors-origins: '%.*s' is not an origin such as https://app.example:8443 "
                          "(lower case, no pattern, nothing after host and port), nor localhost",
                          (int)(origin.n < 64 ? origin.n : 64), origin.p);
    if (cors->n == GW_CORS_MAX_ORIGINS)
        return baton_fail(why, BATON_LIMIT, "cors-origins: more than %d", GW_CORS_MAX_ORIGINS);
    cors->origins[cors->n++] = origin;
    return BATON_OK;
}

enum baton_err gw_cors_read(const char *list, struct gw_cors *cors, struct baton_why *why)
{
    struct gw_view rest = gw_view_trim((struct gw_view){list, strlen(list)});
    struct gw_cors made = {.any = gw_view_equals(rest, "*")};
    enum baton_err err = BATON_OK;
    while (rest.n && !made.any && !err) {
        bool more = memchr(rest.p, ',', rest.n);
        err = add_origin(&made, gw_view_trim(gw_view_cut(&rest, ',')), why);
        if (!err && more && !rest.n)
            err = baton_fail(why, BATON_INVALID, "cors-origins: ends in a comma");
    }
    if (!err)
        *cors = made;
    return err;
}

/* http or https, localhost or a loopback address, any port. */
static bool is_local(const char *origin)
{
    struct gw_view host = {origin, strlen(origin)};
    struct gw_view scheme = gw_view_cut(&host, ':');
    return (gw_view_equals(scheme, "http") || gw_view_equals(scheme, "https")) && host.n > 2 &&
           !memcmp(host.p, "//", 2) && gw_host_is_local((struct gw_view){host.p + 2, host.n - 2});
}

bool gw_cors_allows(const struct gw_cors *cors, const char *origin)
{
    if ((cors->any && *origin) || (cors->local && is_local(origin)))
        return true;
    for (size_t i = 0; i < cors->n; i++)
        if (gw_view_equals(cors->origins[i], origin))
            return true;
    return false;
}

/* ---- answers ---- */

static void add(struct gw_exchange *exchange, const char *name, const char *value)
{
    enum baton_err err = gw_exchange_add_header(exchange, name, value);
    if (err)
        baton_log(BATON_LOG_WARN, "header_left_out", BATON_S("name", name),
                  BATON_S("reason", baton_err_text(err)));
}

void gw_cors_mark(const struct gw_cors *cors, struct gw_exchange *exchange)
{
    const char *origin = gw_exchange_header(exchange, "origin");
    if (!cors->any && !cors->local && !cors->n)
        return;
    /* Also for a request without an Origin, whose answer a cache must not give to a page. */
    add(exchange, "Vary", "Origin");
    if (!gw_cors_allows(cors, origin))
        return;
    add(exchange, "Access-Control-Allow-Origin", cors->any ? "*" : origin);
    add(exchange, "Access-Control-Expose-Headers",
        "x-request-id, traceparent, Retry-After, x-should-retry, x-baton-ignored, x-baton-stream, "
        "request-id");
}

bool gw_cors_is_preflight(const struct gw_exchange *exchange)
{
    return !strcmp(gw_exchange_method(exchange), "OPTIONS") &&
           *gw_exchange_header(exchange, "origin") &&
           *gw_exchange_header(exchange, "access-control-request-method");
}

/* Whether the text is a list of header names, which may be echoed safely in a header. */
static bool is_name_list(const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (!baton_http_is_token_char(text[i]) && text[i] != ',' && text[i] != ' ')
            return false;
    return n > 0 && n <= GW_CORS_MAX_ASKED_BYTES;
}

static void add_permissions(struct gw_exchange *exchange)
{
    char max_age[16];
    const char *asked = gw_exchange_header(exchange, "access-control-request-headers");
    add(exchange, "Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE");
    if (is_name_list(asked))
        add(exchange, "Access-Control-Allow-Headers", asked);
    (void)snprintf(max_age, sizeof max_age, "%d", GW_CORS_MAX_AGE_S);
    add(exchange, "Access-Control-Max-Age", max_age);
}

bool gw_cors_answer(const struct gw_cors *cors, struct gw_exchange *exchange)
{
    if (!gw_cors_is_preflight(exchange) || (!cors->any && !cors->local && !cors->n))
        return false;
    if (gw_cors_allows(cors, gw_exchange_header(exchange, "origin")))
        add_permissions(exchange);
    gw_exchange_respond(exchange, 200, "", "", "", 0);
    return true;
}
