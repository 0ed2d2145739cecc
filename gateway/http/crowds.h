/* Who gives way when there is no place for one more: the oldest of the fullest address.
 *
 * Connections that have shown no whole request, and TLS handshakes, have a limited number of places
 * together. An address that takes many places loses them first, so a flood from one address ends
 * its own connections and those of nobody else. Within an address those of the first rank give way
 * before those of the second, and older ones before newer ones.
 *
 * All operations take constant time, apart from a walk over empty sizes that enters have paid for.
 * Crowds of GW_MAX_CROWD places and more count as equally full.
 *
 * Ownership: crowds and places are parts of their owners' structs, and stay where they are while a
 *            place is taken.
 * Threading: one thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_HTTP_CROWDS_H
#define BATON_GATEWAY_HTTP_CROWDS_H

#include "common/base/list.h"

enum { GW_MAX_CROWD = 1024 };

enum gw_rank { GW_RANK_FIRST, GW_RANK_SECOND, GW_N_RANKS };

struct gw_crowd;

struct gw_place {
    struct baton_node in_crowd;
    struct gw_crowd *crowd; /* NULL: not taken */
    enum gw_rank rank;
};

BATON_LIST(gw_place_list, struct gw_place, in_crowd)

/* The places of one address. */
struct gw_crowd {
    struct baton_node in_size; /* in crowds->by_size, while it has places */
    struct gw_place_list places[GW_N_RANKS];
};

BATON_LIST(gw_crowd_list, struct gw_crowd, in_size)

struct gw_crowds {
    struct gw_crowd_list by_size[GW_MAX_CROWD + 1];
    size_t largest; /* no larger size has crowds */
};

void gw_crowds_init(struct gw_crowds *crowds);
void gw_crowd_init(struct gw_crowd *crowd);
size_t gw_crowd_size(const struct gw_crowd *crowd);

/* Takes the place, as the newest of the rank. A place that the crowd has already moves there. */
void gw_crowds_enter(struct gw_crowds *crowds, struct gw_crowd *crowd, struct gw_place *place,
                     enum gw_rank rank);
/* Ignores a place that is not taken. */
void gw_crowds_leave(struct gw_crowds *crowds, struct gw_place *place);

/* Returns the fullest crowd; NULL when no place is taken. */
struct gw_crowd *gw_crowds_fullest(struct gw_crowds *crowds);
/* Return the place that gives way first, and the one after a place; NULL at the end. */
struct gw_place *gw_crowd_first(const struct gw_crowd *crowd);
struct gw_place *gw_crowd_next(struct gw_place *place);

#endif
