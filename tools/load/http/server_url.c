#include "tools/load/http/server_url.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

/* Returns 0, or the errno. */
static int try_connect(const struct addrinfo *info)
{
    int fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC, info->ai_protocol);
    int failure = fd < 0 || connect(fd, info->ai_addr, info->ai_addrlen) < 0 ? errno : 0;
    if (fd >= 0)
        (void)close(fd);
    return failure;
}

enum baton_err ld_url_resolve(const struct baton_http_url *url, struct sockaddr_storage *address,
                              struct baton_why *why)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    int failure = getaddrinfo(url->host, url->port, &hints, &all);
    if (failure)
        return baton_fail(why, BATON_NOT_FOUND, "--url: %s: %s", url->host, gai_strerror(failure));
    /* A name may have an address where nobody listens, such as ::1 for localhost. */
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
