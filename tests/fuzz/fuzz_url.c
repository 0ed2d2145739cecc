/* An address that a peer announces is refused with a reason, or it is a host and a port that are
 * written out again as they were understood, and resolved to the host that it came from only if it
 * names none. */
#include "tests/fuzz/fuzz.h"

#include "common/wire/link.h"
#include "common/wire/url.h"

static void check_written(const struct baton_url *url)
{
    char text[512];
    struct baton_url again;
    check(!baton_url_format(url, url->host, url->port, text, sizeof text, NULL));
    check(!baton_url_parse(text, &again, NULL));
    check(!strcmp(again.scheme, url->scheme) && !strcmp(again.host, url->host));
    check(again.port == url->port);
}

static void check_resolved(const char *text, const struct baton_url *url)
{
    char resolved[512];
    struct baton_url to;
    if (baton_link_resolve_url(text, "192.0.2.1", resolved, sizeof resolved, NULL))
        return;
    check(!baton_url_parse(resolved, &to, NULL) && to.port == url->port);
    check(!strcmp(to.host, baton_url_is_any_host(url) ? "192.0.2.1" : url->host));
}

FUZZ(data, size)
{
    struct baton_url url;
    struct baton_why why = {""};
    char *text = fuzz_text(data, size);
    if (baton_url_parse(text, &url, &why)) {
        check(*why.text);
    } else {
        check(*url.host && url.port >= 0 && url.port <= 65535);
        check_written(&url);
        check_resolved(text, &url);
    }
    free(text);
}
