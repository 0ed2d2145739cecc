#include "gateway/api/access/judge.h"

#include <string.h>
#include <strings.h>

#include "common/base/array.h"

struct gw_source gw_source_of(const struct gw_exchange *exchange, bool has_body)
{
    return (struct gw_source){.method = gw_exchange_method(exchange),
                              .host = gw_exchange_header(exchange, "host"),
                              .origin = gw_exchange_header(exchange, "origin"),
                              .fetch_site = gw_exchange_header(exchange, "sec-fetch-site"),
                              .content_type = gw_exchange_header(exchange, "content-type"),
                              .has_body = has_body};
}

/* Whether the origin is the scheme and the Host of this request. A server without TLS cannot know
 * whether a proxy in front of it has TLS, so that both schemes may be its own. */
static bool is_own(const struct gw_judge *judge, const struct gw_source *source)
{
    struct gw_view host = {source->origin, strlen(source->origin)};
    struct gw_view scheme = gw_view_cut(&host, ':');
    bool fits =
        gw_view_equals(scheme, "https") || (gw_view_equals(scheme, "http") && !judge->is_https);
    return fits && host.n > 2 && !memcmp(host.p, "//", 2) && !strcasecmp(host.p + 2, source->host);
}

/* Sec-Fetch-Site comes first: behind a proxy that sets another Host, a page of ours has an Origin
 * that seems foreign. Browsers omit Sec-Fetch-Site towards servers without TLS, except this host's
 * own. "none": the user typed the address. */
bool gw_judge_is_foreign(const struct gw_judge *judge, const struct gw_source *source)
{
    if (*source->fetch_site)
        return strcmp(source->fetch_site, "same-origin") != 0 &&
               strcmp(source->fetch_site, "none") != 0;
    return *source->origin && !is_own(judge, source);
}

/* ---- what is refused ---- */

static bool has_other_host(const struct gw_judge *judge, const struct gw_source *source)
{
    return judge->hosts.are_checked && !gw_hosts_has(&judge->hosts, source->host);
}

static bool changes_from_other_origin(const struct gw_judge *judge, const struct gw_source *source)
{
    static const char *const reading[] = {"GET", "HEAD", "OPTIONS"};
    for (size_t i = 0; i < BATON_N_OF(reading); i++)
        if (!strcmp(source->method, reading[i]))
            return false;
    return gw_judge_is_foreign(judge, source) && !gw_cors_allows(&judge->cors, source->origin);
}

/* A page may send a body without a type to any origin without asking. */
static bool lacks_type(const struct gw_judge *judge, const struct gw_source *source)
{
    (void)judge;
    return source->has_body && (*source->origin || *source->fetch_site) && !*source->content_type;
}

static const struct {
    bool (*applies)(const struct gw_judge *judge, const struct gw_source *source);
    struct gw_error error;
} refusals[] = {
    {has_other_host,
     {.status = 421,
      .code = "unknown_host",
      .message = "the Host header is not a name of this server: use localhost or an IP address, or "
                 "list the name in --allowed-hosts"}},
    {changes_from_other_origin,
     {.status = 403,
      .code = "foreign_origin",
      .message = "the Origin or Sec-Fetch-Site header names a web page of another origin: only "
                 "pages of the origins in --cors-origins may send this request"}},
    {lacks_type,
     {.status = 415,
      .code = "unsupported_media_type",
      .message = "a web page's request needs a Content-Type header: send application/json"}},
};

const struct gw_error *gw_judge_head(const struct gw_judge *judge, const struct gw_source *source)
{
    for (size_t i = 0; i < BATON_N_OF(refusals); i++)
        if (refusals[i].applies(judge, source))
            return &refusals[i].error;
    return NULL;
}
