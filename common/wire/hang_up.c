#include "common/wire/hang_up.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

union address {
    struct sockaddr_storage any;
    struct sockaddr base;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

enum baton_err baton_hang_up_init(struct baton_hang_up *hang_up)
{
    *hang_up = (struct baton_hang_up){.reserved = -1};
    hang_up->fds = opendir("/proc/self/fd");
    if (hang_up->fds)
        hang_up->reserved = fcntl(dirfd(hang_up->fds), F_DUPFD_CLOEXEC, 0);
    if (hang_up->reserved >= 0)
        return BATON_OK;
    baton_hang_up_fini(hang_up);
    return BATON_IO;
}

void baton_hang_up_fini(struct baton_hang_up *hang_up)
{
    if (hang_up->reserved >= 0)
        close(hang_up->reserved);
    if (hang_up->fds)
        closedir(hang_up->fds);
    *hang_up = (struct baton_hang_up){.reserved = -1};
}

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

/* Whether fd is a connection accepted on our port, and from where. */
static bool is_ours(const struct baton_hang_up *hang_up, int fd, union address *peer)
{
    union address here = {0};
    socklen_t here_bytes = sizeof here, peer_bytes = sizeof *peer;
    *peer = (union address){0};
    return !getsockname(fd, &here.base, &here_bytes) && port_of(&here) == hang_up->local_port &&
           !getpeername(fd, &peer->base, &peer_bytes); /* a listener has no peer */
}

bool baton_hang_up_is_here(const struct baton_hang_up *hang_up,
                           const struct baton_hang_up_target *target)
{
    const union address wanted = {.any = target->peer};
    union address peer;
    return target->fd >= 0 && is_ours(hang_up, target->fd, &peer) && is_same(&peer, &wanted);
}

static void match(const struct baton_hang_up *hang_up, int fd, struct baton_hang_up_target *targets,
                  size_t n)
{
    union address peer;
    if (!is_ours(hang_up, fd, &peer))
        return;
    for (size_t i = 0; i < n; i++) {
        const union address wanted = {.any = targets[i].peer};
        if (targets[i].fd < 0 && is_same(&peer, &wanted)) {
            targets[i].fd = fd;
            return;
        }
    }
}

/* The number of the next descriptor of this process; -1 after the last. */
static int next_fd(const struct baton_hang_up *hang_up)
{
    const struct dirent *entry = readdir(hang_up->fds);
    while (entry && entry->d_name[0] == '.')
        entry = readdir(hang_up->fds);
    return entry ? atoi(entry->d_name) : -1;
}

void baton_hang_up_find(struct baton_hang_up *hang_up, struct baton_hang_up_target *targets,
                        size_t n)
{
    rewinddir(hang_up->fds);
    for (int fd; (fd = next_fd(hang_up)) >= 0;)
        match(hang_up, fd, targets, n);
}

/* The system call itself: NNG may close fd at any moment, which is fine, since the copy is looked at
 * again. A race detector that knows the library's call cannot know that. */
static int copy_to(int fd, int reserved)
{
    return (int)syscall(SYS_dup3, fd, reserved, O_CLOEXEC);
}

/* The reserved number pins what fd meant while we look: fd itself may be closed and reused. */
bool baton_hang_up_one(struct baton_hang_up *hang_up, const struct baton_hang_up_target *target)
{
    struct baton_hang_up_target pinned = *target;
    if (!baton_hang_up_is_here(hang_up, target))
        return false;
    pinned.fd = copy_to(target->fd, hang_up->reserved);
    bool done = baton_hang_up_is_here(hang_up, &pinned) && !shutdown(pinned.fd, SHUT_RDWR);
    (void)copy_to(dirfd(hang_up->fds), hang_up->reserved); /* lets go, keeps the number */
    return done;
}

size_t baton_hang_up_all(struct baton_hang_up *hang_up)
{
    size_t n = 0;
    rewinddir(hang_up->fds);
    for (int fd; (fd = next_fd(hang_up)) >= 0;) {
        union address peer;
        if (fd != hang_up->reserved && is_ours(hang_up, fd, &peer))
            n += baton_hang_up_one(hang_up,
                                   &(struct baton_hang_up_target){.peer = peer.any, .fd = fd});
    }
    return n;
}
