#include "common/http/url.h"

#include <stdio.h>
#include <string.h>

enum { PORT_MAX = 65535, PORT_DIGITS = 5 };

/* Copies n bytes as a string. False when they do not fit or contain characters that a head may
 * not. */
static bool copy(char *to, size_t size, const char *from, size_t n)
{
    if (n >= size)
        return false;
    for (size_t i = 0; i < n; i++)
        if (from[i] <= ' ' || from[i] == 0x7f)
            return false;
    memcpy(to, from, n);
    to[n] = 0;
    return true;
}

static bool skip(const char **p, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(*p, text, n) != 0)
        return false;
    *p += n;
    return true;
}

static bool parse_host(const char **p, struct baton_http_url *url)
{
    bool bracketed = skip(p, "[");
    size_t n = strcspn(*p, bracketed ? "]/" : ":/?#@");
    if (!n || !copy(url->host, sizeof url->host, *p, n))
        return false;
    *p += n;
    return !bracketed || skip(p, "]");
}

static bool parse_port(const char **p, struct baton_http_url *url)
{
    int port = url->tls ? 443 : 80;
    if (skip(p, ":")) {
        size_t n = strspn(*p, "0123456789");
        if (!n || n > PORT_DIGITS)
            return false;
        port = 0;
        for (; n; n--)
            port = 10 * port + (*(*p)++ - '0');
    }
    if (port < 1 || port > PORT_MAX)
        return false;
    (void)snprintf(url->port, sizeof url->port, "%d", port);
    return true;
}

static bool parse_path(const char *p, struct baton_http_url *url)
{
    size_t n = strlen(p);
    if (n && p[0] != '/')
        return false;
    while (n && p[n - 1] == '/')
        n--;
    return !strpbrk(p, "?#") && copy(url->path, sizeof url->path, p, n);
}

static bool parse_url(const char *p, bool any, struct baton_http_url *url)
{
    url->tls = any && skip(&p, "https://");
    return (url->tls || skip(&p, "http://")) && parse_host(&p, url) && parse_port(&p, url) &&
           parse_path(p, url);
}

static enum baton_err parse(const char *option, const char *text, bool any,
                            struct baton_http_url *url, struct baton_why *why)
{
    struct baton_http_url parsed = {.host = ""};
    if (!parse_url(text, any, &parsed))
        return baton_fail(why, BATON_INVALID,
                          "%s: must be %shttp://HOST[:PORT][/PATH], not \"%.120s\"", option,
                          any ? "https:// or " : "", text);
    bool v6 = strchr(parsed.host, ':') != NULL;
    (void)snprintf(parsed.authority, sizeof parsed.authority, "%s%s%s:%s", v6 ? "[" : "",
                   parsed.host, v6 ? "]" : "", parsed.port);
    *url = parsed;
    return BATON_OK;
}

enum baton_err baton_http_url_parse(const char *option, const char *text,
                                    struct baton_http_url *url, struct baton_why *why)
{
    return parse(option, text, false, url, why);
}

enum baton_err baton_http_url_parse_any(const char *option, const char *text,
                                        struct baton_http_url *url, struct baton_why *why)
{
    return parse(option, text, true, url, why);
}
