#include "common/wire/transport/hang_up.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/wire/transport/own_fds.h"

union address {
    struct sockaddr_storage any;
    struct sockaddr base;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

enum baton_err baton_hang_up_init(struct baton_hang_up *hang_up)
{
    *hang_up = (struct baton_hang_up){.reserved = -1};
    if (baton_own_fds_open())
        return BATON_IO;
    hang_up->resting = baton_own_fds_any();
    hang_up->reserved = fcntl(hang_up->resting, F_DUPFD_CLOEXEC, 0);
    return hang_up->reserved >= 0 ? BATON_OK : BATON_IO;
}

void baton_hang_up_fini(struct baton_hang_up *hang_up)
{
    if (hang_up->reserved >= 0)
        close(hang_up->reserved);
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

bool baton_hang_up_is_established(const struct baton_hang_up_target *connection)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    return !getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &size) &&
           info.tcpi_state == TCP_ESTABLISHED;
}

struct search {
    const struct baton_hang_up *hang_up;
    void (*see)(void *arg, const struct baton_hang_up_target *connection);
    void *arg;
};

static bool show(void *arg, int fd)
{
    const struct search *search = arg;
    union address peer;
    if (fd != search->hang_up->reserved && is_ours(search->hang_up, fd, &peer))
        search->see(search->arg, &(struct baton_hang_up_target){.peer = peer.any, .fd = fd});
    return true;
}

bool baton_hang_up_each(const struct baton_hang_up *hang_up,
                        void (*see)(void *arg, const struct baton_hang_up_target *connection),
                        void *arg)
{
    struct search search = {.hang_up = hang_up, .see = see, .arg = arg};
    return baton_own_fds_each(show, &search);
}

/* The system call itself: NNG may close fd at any moment, which is fine, since the copy is looked
 * at again. A race detector that knows the library's call cannot know that. */
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
    (void)copy_to(hang_up->resting, hang_up->reserved); /* lets go, keeps the number */
    return done;
}

static void match(void *arg, const struct baton_hang_up_target *connection)
{
    struct baton_hang_up_target *wanted = arg;
    const union address here = {.any = connection->peer}, there = {.any = wanted->peer};
    if (is_same(&here, &there))
        wanted->fd = connection->fd;
}

bool baton_hang_up_peer(struct baton_hang_up *hang_up, const struct sockaddr_storage *peer)
{
    struct baton_hang_up_target target = {.peer = *peer, .fd = -1};
    (void)baton_hang_up_each(hang_up, match, &target);
    return baton_hang_up_one(hang_up, &target);
}

struct sweep {
    struct baton_hang_up *hang_up;
    size_t n;
};

static bool end(void *arg, int fd)
{
    struct sweep *sweep = arg;
    union address peer;
    if (fd != sweep->hang_up->reserved && is_ours(sweep->hang_up, fd, &peer))
        sweep->n += baton_hang_up_one(sweep->hang_up,
                                      &(struct baton_hang_up_target){.peer = peer.any, .fd = fd});
    return true;
}

size_t baton_hang_up_all(struct baton_hang_up *hang_up)
{
    struct sweep sweep = {.hang_up = hang_up};
    (void)baton_own_fds_each(end, &sweep);
    return sweep.n;
}
