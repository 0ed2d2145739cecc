#include "tools/baton/fleet/ports.h"

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Ports below 32768 are not used for outgoing connections by default. */
enum { LAST_PORT = 32767 };

/* Returns the socket that has the name; -1 when another has it. */
static int claim(const char *host, int number)
{
    /* A name after a zero byte lives in the network namespace, as ports do, and in no directory. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "baton-port-%s-%d", host,
                     number);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || !bind(fd, (const struct sockaddr *)&address,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
        return fd;
    (void)close(fd);
    return -1;
}

/* Returns a socket that reserves the port until it is closed; -1 when the port is in use. It does
 * not listen, and it sets SO_REUSEADDR only after it has the address, so the gateway, which also
 * sets it, may listen there. */
static int hold(const char *host, int number)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *address = NULL;
    const int on = 1;
    char service[12];
    (void)snprintf(service, sizeof service, "%d", number);
    if (getaddrinfo(host, service, &hints, &address))
        return -1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has_it = fd >= 0 && !bind(fd, address->ai_addr, address->ai_addrlen) &&
                  !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    freeaddrinfo(address);
    if (has_it)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

enum baton_err bt_port_claim(const char *host, int number, struct bt_port *port,
                             struct baton_why *why)
{
    *port = (struct bt_port){.number = number, .claim_fd = claim(host, number), .hold_fd = -1};
    if (port->claim_fd >= 0)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID, "--port %d: another fleet has it; choose another",
                      number);
}

enum baton_err bt_port_choose(const char *host, int first, struct bt_port *port,
                              struct baton_why *why)
{
    for (int number = first; number <= LAST_PORT; number++) {
        *port = (struct bt_port){.number = number, .claim_fd = claim(host, number), .hold_fd = -1};
        if (port->claim_fd >= 0 && (port->hold_fd = hold(host, number)) >= 0)
            return BATON_OK;
        if (port->claim_fd >= 0)
            (void)close(port->claim_fd);
    }
    return baton_fail(why, BATON_LIMIT, "no free port on %s from %d to %d", host, first, LAST_PORT);
}
