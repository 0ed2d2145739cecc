/* A request's head is judged as the header says: no name that is not ours is served where names are
 * checked, no page of an unlisted origin changes anything, and no program is taken for a page.
 *
 * Input: lines: flags ('s': the server has TLS), the bound address, the list of hosts, the list of
 * origins, then of the request: method, Host, Origin, Sec-Fetch-Site, Content-Type. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <strings.h>

#include "common/base/array.h"
#include "gateway/api/access/judge.h"

enum { N_LINES = 9, FLAGS = 0, BOUND, HOSTS, ORIGINS, METHOD, HOST, ORIGIN, FETCH_SITE, TYPE };

static void split(char *text, const char *lines[N_LINES])
{
    for (int i = 0; i < N_LINES; i++) {
        char *end = text ? strchr(text, '\n') : NULL;
        if (end)
            *end++ = 0;
        lines[i] = text ? text : "";
        text = end;
    }
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && !strcasecmp(text + n - n_end, end);
}

/* Each name of the list is served, in any case and with any port. */
static void check_listed(const struct gw_hosts *hosts)
{
    char host[256];
    for (size_t i = 0; i < hosts->n; i++) {
        const struct gw_view *name = &hosts->names[i];
        (void)snprintf(host, sizeof host, "%.*s:8000", (int)name->n, name->p);
        check(name->n > 200 || name->p[name->n - 1] == '.' || gw_hosts_has(hosts, host));
    }
}

/* A name of letters alone: neither an address nor one with a port. */
static bool is_plain_name(const char *host)
{
    return *host && host[strspn(host, "ghijklmnopqrstuvwxyz")] == 0 && !ends_in(host, "localhost");
}

static bool is_listed(const struct gw_hosts *hosts, const char *host)
{
    for (size_t i = 0; i < hosts->n; i++)
        if (hosts->names[i].n == strlen(host) &&
            !strncasecmp(hosts->names[i].p, host, hosts->names[i].n))
            return true;
    return hosts->any || !strcasecmp(hosts->bound, host);
}

static bool only_reads(const char *method)
{
    return !strcmp(method, "GET") || !strcmp(method, "HEAD") || !strcmp(method, "OPTIONS");
}

static void check_refusal(const struct gw_error *error, const struct gw_source *source,
                          bool is_foreign, bool is_allowed)
{
    bool is_page = *source->origin || *source->fetch_site;
    check(error->code && *error->code && *error->message);
    check(error->status == 421 || error->status == 403 || error->status == 415);
    check(error->status != 403 || (is_foreign && !is_allowed && !only_reads(source->method)));
    check(error->status != 415 || (is_page && !*source->content_type));
}

static void check_head(const struct gw_judge *judge, const struct gw_source *source)
{
    const struct gw_error *error = gw_judge_head(judge, source);
    bool is_foreign = gw_judge_is_foreign(judge, source);
    bool is_allowed = gw_cors_allows(&judge->cors, source->origin);
    check(*source->origin || *source->fetch_site || !is_foreign);
    check(!is_allowed || *source->origin);
    if (error)
        check_refusal(error, source, is_foreign, is_allowed);
    else
        check(!is_foreign || is_allowed || only_reads(source->method));
    if (judge->hosts.are_checked && is_plain_name(source->host))
        check((error && error->status == 421) == !is_listed(&judge->hosts, source->host));
}

/* A page whose name resolves to our address is its own origin, and still refused by its Host. */
static void check_rebinding(const struct gw_judge *judge, const struct gw_source *source)
{
    char origin[300];
    struct gw_source page = *source;
    (void)snprintf(origin, sizeof origin, "http://%.250s", source->host);
    page.origin = origin;
    page.fetch_site = "";
    const struct gw_error *error = gw_judge_head(judge, &page);
    if (judge->hosts.are_checked && !gw_hosts_has(&judge->hosts, page.host))
        check(error && error->status == 421);
    else if (!judge->is_https && *page.host && strlen(page.host) < 250)
        check(!gw_judge_is_foreign(judge, &page));
}

FUZZ(data, size)
{
    const char *lines[N_LINES];
    struct gw_judge judge = {0};
    struct baton_why why = {""};
    char *text = fuzz_text(data, size);
    split(text, lines);
    judge.is_https = strchr(lines[FLAGS], 's');
    if (gw_hosts_read(lines[HOSTS], lines[BOUND], &judge.hosts, &why) ||
        gw_cors_read(lines[ORIGINS], &judge.cors, &why)) {
        check(*why.text != 0);
    } else {
        check(judge.hosts.n <= GW_HOSTS_MAX && !(judge.hosts.any && judge.hosts.n));
        check_listed(&judge.hosts);
        for (int has_body = 0; has_body < 2; has_body++) {
            const struct gw_source source = {.method = lines[METHOD],
                                             .host = lines[HOST],
                                             .origin = lines[ORIGIN],
                                             .fetch_site = lines[FETCH_SITE],
                                             .content_type = lines[TYPE],
                                             .has_body = has_body};
            check_head(&judge, &source);
            check_rebinding(&judge, &source);
        }
    }
    free(text);
}
