/* Ends accepted TCP connections from underneath NNG.
 *
 * NNG up to 1.5.2 can lose track of a connection that it closes while data arrives: one operation
 * never completes, and the thread that reports every lost connection of the process waits for it
 * for ever (nanomsg/nng#1636). A connection that the kernel ends takes a path without that flaw,
 * and the peer sees the same thing either way.
 *
 * They are looked for among all of the process (own_fds.h). What that takes is reserved at the
 * start: it works when no descriptor is free any more.
 *
 * Ownership: the descriptors looked for stay NNG's.
 * Threading: one thread at a time per struct; safe against a descriptor being closed meanwhile.
 * Errors:    init: IO without a free descriptor. Otherwise the results say what was found.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_HANG_UP_H
#define BATON_COMMON_WIRE_TRANSPORT_HANG_UP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "common/base/error.h"

struct baton_hang_up {
    int reserved;   /* a descriptor number that is ours */
    int resting;    /* what it stands for while no connection is hung up */
    int local_port; /* where the connections were accepted; set by the caller */
};

enum baton_err baton_hang_up_init(struct baton_hang_up *hang_up) BATON_MUST_CHECK;
void baton_hang_up_fini(struct baton_hang_up *hang_up);

/* A connection by its peer, and its descriptor; -1: not known. */
struct baton_hang_up_target {
    struct sockaddr_storage peer;
    int fd;
};

/* Calls see for each connection that was accepted on the port and is not over for both sides, in
 * one pass over the descriptors. see must not come here again. Returns whether it saw all. */
bool baton_hang_up_each(const struct baton_hang_up *hang_up,
                        void (*see)(void *arg, const struct baton_hang_up_target *connection),
                        void *arg);

/* False: one side has ended it, so NNG closes it soon or has begun to. */
bool baton_hang_up_is_established(const struct baton_hang_up_target *connection);

/* Looks for the peer's connection and shuts it down; false when it is not found. */
bool baton_hang_up_peer(struct baton_hang_up *hang_up, const struct sockaddr_storage *peer);

/* Whether the target's descriptor is still that connection. */
bool baton_hang_up_is_here(const struct baton_hang_up *hang_up,
                           const struct baton_hang_up_target *target);

/* Shuts the connection down; false when it is gone already. */
bool baton_hang_up_one(struct baton_hang_up *hang_up, const struct baton_hang_up_target *target);

/* Shuts down every connection accepted on the port; how many. */
size_t baton_hang_up_all(struct baton_hang_up *hang_up);

#endif
