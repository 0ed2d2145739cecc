/* The fleets behind one gateway, one for each model. They share the inbox and the names of workers,
 * and nothing else.
 *
 *     a message of a link that a fleet has --> that fleet
 *     a Hello of a new link -----------------> the fleet whose model the worker has
 *     anything else -------------------------> the first fleet, which rejects it
 *
 * Ownership: borrows the fleets.
 * Threading: loop thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_FLEET_FLEETS_H
#define BATON_GATEWAY_FLEET_FLEETS_H

#include "gateway/fleet/fleet.h"

enum { GW_MAX_FLEETS = 32 };

struct gw_fleets {
    struct gw_fleet *list[GW_MAX_FLEETS];
    size_t n;
};

/* The fleet that receives the message. */
struct gw_fleet *gw_fleets_of(const struct gw_fleets *fleets, const baton_envelope *envelope);

/* The worker of that id, which is unique, and its fleet; NULL: there is none. */
struct gw_worker *gw_fleets_find(const struct gw_fleets *fleets, const char *id,
                                 struct gw_fleet **fleet);

/* Whether the Hello is of the fleet's model for certain: no other fleet has the same files, or
 * weights or names tell them apart. False: for the reason in *refusal. */
bool gw_fleets_are_clear(const struct gw_fleets *fleets, const struct gw_fleet *fleet,
                         const Baton__V1__Hello *hello, struct gw_refusal *refusal);

/* Replaces the reason against a worker whose model no fleet has by the list of their models. */
void gw_fleets_explain(const struct gw_fleets *fleets, const Baton__V1__Hello *hello,
                       struct gw_refusal *refusal);

#endif
