#include "tools/load/server_url.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/load/number.h"

/* Copies n bytes and ends them; false when they do not fit or hold what a head may not. */
static bool keep(char *to, size_t size, const char *from, size_t n)
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

static bool take_host(const char **p, struct ld_url *url)
{
    bool bracketed = ld_take_char(p, '[');
    size_t n = strcspn(*p, bracketed ? "]/" : ":/?#@");
    if (!n || !keep(url->host, sizeof url->host, *p, n))
        return false;
    *p += n;
    return !bracketed || ld_take_char(p, ']');
}

static bool take_port(const char **p, struct ld_url *url)
{
    int64_t port = 80;
    if (ld_take_char(p, ':') && !ld_take_int(p, &port))
        return false;
    if (port < 1 || port > 65535)
        return false;
    (void)snprintf(url->port, sizeof url->port, "%d", (int)port);
    return true;
}

static bool take_path(const char *p, struct ld_url *url)
{
    size_t n = strlen(p);
    if (n && p[0] != '/')
        return false;
    while (n && p[n - 1] == '/')
        n--;
    return !strpbrk(p, "?#") && keep(url->path, sizeof url->path, p, n);
}

enum baton_err ld_url_parse(const char *option, const char *text, struct ld_url *url,
                            struct baton_why *why)
{
    static const char scheme[] = "http://";
    struct ld_url parsed = {.host = ""};
    const char *p = text + sizeof scheme - 1;
    if (strncmp(text, scheme, sizeof scheme - 1) != 0 || !take_host(&p, &parsed) ||
        !take_port(&p, &parsed) || !take_path(p, &parsed))
        return baton_fail(why, BATON_INVALID,
                          "%s: must be http://HOST[:PORT][/PATH], not \"%.120s\"", option, text);
    bool v6 = strchr(parsed.host, ':') != NULL;
    (void)snprintf(parsed.authority, sizeof parsed.authority, "%s%s%s:%s", v6 ? "[" : "",
                   parsed.host, v6 ? "]" : "", parsed.port);
    *url = parsed;
    return BATON_OK;
}

/* 0, or the errno. */
static int try_connect(const struct addrinfo *info)
{
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC, info->ai_protocol);
    int failure = fd < 0 || connect(fd, info->ai_addr, info->ai_addrlen) < 0 ? errno : 0;
    if (fd >= 0)
        (void)close(fd);
    return failure;
}

enum baton_err ld_url_resolve(const struct ld_url *url, struct sockaddr_storage *address,
                              struct baton_why *why)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    int failure = getaddrinfo(url->host, url->port, &hints, &all);
    if (failure)
        return baton_fail(why, BATON_NOT_FOUND, "--url: %s: %s", url->host, gai_strerror(failure));
    for (const struct addrinfo *info = all; info; info = info->ai_next) {
        failure = try_connect(info);
        if (failure)
            continue;
        memcpy(address, info->ai_addr, info->ai_addrlen);
        break;
    }
    freeaddrinfo(all);
    if (!failure)
        return BATON_OK;
    return baton_fail(why, BATON_IO, "--url: %s: %s", url->authority, strerror(failure));
}
