#include "common/wire/url.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"

static const char *const schemes[] = {"tcp", "tls+tcp"};

static enum baton_err refuse(struct baton_why *why, const char *text, const char *reason)
{
    return baton_fail(why, BATON_INVALID, "\"%.200s\" %s", text, reason);
}

static const char *parse_scheme(const char *text, struct baton_url *url)
{
    for (size_t i = 0; i < BATON_N_OF(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (!strncmp(text, schemes[i], n) && !strncmp(text + n, "://", 3)) {
            memcpy(url->scheme, schemes[i], n + 1);
            return text + n + 3;
        }
    }
    return NULL;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

static bool is_ipv6_char(char c)
{
    return isxdigit((unsigned char)c) || c == ':' || c == '.';
}

/* Returns the text after the host, NULL when there is no host. */
static const char *parse_host(const char *text, struct baton_url *url)
{
    bool bracketed = *text == '[';
    bool (*allowed)(char) = bracketed ? is_ipv6_char : is_name_char;
    const char *begin = text + bracketed, *end = begin;
    if (!bracketed && *end == '*')
        end++;
    else
        while (*end && allowed(*end))
            end++;
    size_t n = (size_t)(end - begin);
    if (!n || n >= sizeof url->host || (bracketed && *end != ']'))
        return NULL;
    memcpy(url->host, begin, n);
    url->host[n] = 0;
    return end + bracketed;
}

static bool parse_port(const char *text, struct baton_url *url)
{
    int port = 0, digits = 0;
    for (; isdigit((unsigned char)*text) && digits < 6; text++, digits++)
        port = port * 10 + (*text - '0');
    url->port = port;
    return digits && !*text && port <= 65535;
}

enum baton_err baton_url_parse(const char *text, struct baton_url *url, struct baton_why *why)
{
    struct baton_url parsed;
    const char *rest = parse_scheme(text, &parsed);
    if (!rest)
        return refuse(why, text, "is not a tcp:// or tls+tcp:// address");
    rest = parse_host(rest, &parsed);
    if (!rest || *rest != ':')
        return refuse(why, text, "has no host:port");
    if (!parse_port(rest + 1, &parsed))
        return refuse(why, text, "has no port 0..65535 at its end");
    *url = parsed;
    return BATON_OK;
}

enum baton_err baton_url_format(const struct baton_url *url, const char *host, int port, char *text,
                                size_t size, struct baton_why *why)
{
    char made[sizeof url->scheme + sizeof url->host + 16];
    bool ipv6 = strchr(host, ':') != NULL;
    int n = snprintf(made, sizeof made, "%s://%s%s%s:%d", url->scheme, ipv6 ? "[" : "", host,
                     ipv6 ? "]" : "", port);
    if (n < 0 || (size_t)n >= sizeof made || (size_t)n >= size)
        return refuse(why, host, "is too long for an address");
    memcpy(text, made, (size_t)n + 1);
    return BATON_OK;
}

bool baton_url_is_any_host(const struct baton_url *url)
{
    return !strcmp(url->host, "*") || !strcmp(url->host, "0.0.0.0") || !strcmp(url->host, "::");
}
