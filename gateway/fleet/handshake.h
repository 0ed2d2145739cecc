/* Who may join the fleet: the checks of a Hello, and its answer.
 *
 * The first to join an empty fleet settles its terms; who differs from them is told so.
 *
 * Ownership: a worker that joined, or whose Refused is still to leave, belongs to the fleet.
 * Threading: loop thread.
 * Errors:    answered with Refused and a reason, in both logs; a Hello that can not be answered is
 *            dropped with its pipe.
 */
#ifndef BATON_GATEWAY_FLEET_HANDSHAKE_H
#define BATON_GATEWAY_FLEET_HANDSHAKE_H

#include "gateway/fleet/fleet.h"

void gw_handshake_greet(struct gw_fleet *fleet, const struct baton_message *message,
                        int64_t now_ns);

#endif
