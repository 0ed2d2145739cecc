#include "common/wire/transport/tcp_path.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include <nng/nng.h>

#include "common/base/clock.h"
#include "common/wire/transport/own_fds.h"

union address {
    struct sockaddr_storage any;
    struct sockaddr base;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

/* Both keep ports and addresses in the network's order. */
static bool is_same(const union address *address, const nng_sockaddr *wanted)
{
    if (address->base.sa_family == AF_INET)
        return wanted->s_family == NNG_AF_INET && address->in.sin_port == wanted->s_in.sa_port &&
               address->in.sin_addr.s_addr == wanted->s_in.sa_addr;
    return address->base.sa_family == AF_INET6 && wanted->s_family == NNG_AF_INET6 &&
           address->in6.sin6_port == wanted->s_in6.sa_port &&
           !memcmp(&address->in6.sin6_addr, wanted->s_in6.sa_addr, sizeof wanted->s_in6.sa_addr);
}

int64_t baton_tcp_path_judge(const struct tcp_info *info)
{
    /* Probes are sent in place of data while the far process takes nothing. */
    bool is_unanswered = (info->tcpi_unacked && info->tcpi_retransmits) || info->tcpi_probes > 1;
    return is_unanswered ? (int64_t)info->tcpi_last_ack_recv * BATON_MS : 0;
}

/* The answer of a descriptor that is between these two addresses, else INT64_MAX. */
static int64_t silent_ns(int fd, const nng_sockaddr *local, const nng_sockaddr *peer)
{
    union address here = {0}, there = {0};
    socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
    struct tcp_info info = {0};
    socklen_t info_bytes = sizeof info;
    if (getsockname(fd, &here.base, &here_bytes) || !is_same(&here, local) ||
        getpeername(fd, &there.base, &there_bytes) || !is_same(&there, peer) ||
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_bytes))
        return INT64_MAX;
    return baton_tcp_path_judge(&info);
}

struct search {
    const nng_sockaddr *local, *peer;
    int64_t found_ns;
};

static bool ask(void *arg, int fd)
{
    struct search *search = arg;
    search->found_ns = silent_ns(fd, search->local, search->peer);
    return search->found_ns == INT64_MAX;
}

int64_t baton_tcp_path_silent_ns(uint32_t pipe)
{
    nng_sockaddr local, peer;
    struct search search = {.local = &local, .peer = &peer, .found_ns = INT64_MAX};
    if (nng_pipe_get_addr((nng_pipe){.id = pipe}, NNG_OPT_LOCADDR, &local) ||
        nng_pipe_get_addr((nng_pipe){.id = pipe}, NNG_OPT_REMADDR, &peer))
        return INT64_MAX;
    (void)baton_own_fds_each(ask, &search);
    return search.found_ns;
}
