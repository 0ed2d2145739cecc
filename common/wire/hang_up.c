#include "common/wire/hang_up.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

union address {
    struct sockaddr_storage any;
    struct sockaddr base;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

static int port_of(const union address *address)
{
    if (address->base.sa_family == AF_INET)
        return ntohs(address->in.sin_port);
    return address->base.sa_family == AF_INET6 ? ntohs(address->in6.sin6_port) : -1;
}

static bool is_same(const union address *a, const union address *b)
{
    if (a->base.sa_family != b->base.sa_family || port_of(a) != port_of(b))
        return false;
    return a->base.sa_family == AF_INET
               ? a->in.sin_addr.s_addr == b->in.sin_addr.s_addr
               : !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof a->in6.sin6_addr);
}

static bool is_meant(int fd, int local_port, const struct sockaddr_storage *peer)
{
    union address here = {0}, there = {0}, wanted = {0};
    socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
    if (getsockname(fd, &here.base, &here_bytes) || port_of(&here) != local_port ||
        getpeername(fd, &there.base, &there_bytes))
        return false; /* a listener has no peer */
    if (peer)
        wanted.any = *peer;
    return !peer || is_same(&there, &wanted);
}

/* The duplicate pins what the number meant while we look: fd itself may be closed and reused. */
static bool hang_up_one(int fd, int local_port, const struct sockaddr_storage *peer)
{
    if (!is_meant(fd, local_port, peer))
        return false;
    int pinned = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (pinned < 0)
        return false;
    bool done = is_meant(pinned, local_port, peer) && !shutdown(pinned, SHUT_RDWR);
    close(pinned);
    return done;
}

size_t baton_hang_up(int local_port, const struct sockaddr_storage *peer)
{
    size_t n = 0;
    DIR *fds = opendir("/proc/self/fd");
    if (!fds)
        return 0;
    for (const struct dirent *entry; (entry = readdir(fds));)
        if (entry->d_name[0] != '.')
            n += hang_up_one(atoi(entry->d_name), local_port, peer);
    closedir(fds);
    return n;
}
