/* Keeps ports for a fleet from the moment that it chooses them, so that fleets that start together
 * never take each other's.
 *
 * A claim is a name in the host's network namespace: no other fleet gets it while the descriptor is
 * open, whether somebody listens on the port or not. A hold is the port itself.
 *
 * Ownership: descriptors are the caller's, closed on exec; the end of the process closes them.
 * Threading: any thread.
 * Errors:    INVALID names the option; LIMIT: no port is free.
 */
#ifndef BATON_TOOLS_BATON_FLEET_PORTS_H
#define BATON_TOOLS_BATON_FLEET_PORTS_H

#include "common/base/error.h"

struct bt_port {
    int number, claim_fd, hold_fd; /* hold_fd -1: none */
};

/* Claims port number on host, a numeric address. INVALID: another fleet has it. */
enum baton_err bt_port_claim(const char *host, int number, struct bt_port *port,
                             struct baton_why *why) BATON_MUST_CHECK;

/* Claims and holds the first free port from first on. A process that sets SO_REUSEADDR, as servers
 * do, may listen there. */
enum baton_err bt_port_choose(const char *host, int first, struct bt_port *port,
                              struct baton_why *why) BATON_MUST_CHECK;

#endif
