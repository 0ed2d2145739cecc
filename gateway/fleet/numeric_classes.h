/* The numeric classes of a fleet's workers (engine/compute/numeric_class.c): the root of each
 * class's block hashes, and the roles that it serves.
 *
 * Workers of one class compute the same bits. K and V, tokens and texts may differ between classes,
 * so nothing that was computed in one is found under another's hashes.
 *
 * Ownership: plain data, the fleet's. Workers point to their class, which keeps its place while it
 *            has workers, and then until another class needs the place.
 * Threading: loop thread.
 * Errors:    join: NULL when all places are taken.
 */
#ifndef BATON_GATEWAY_FLEET_NUMERIC_CLASSES_H
#define BATON_GATEWAY_FLEET_NUMERIC_CLASSES_H

#include "common/base/block_hash.h"
#include "common/base/fingerprint.h"
#include "common/wire/envelope/envelope.h"

enum { GW_MAX_CLASSES = 16, GW_N_ROLES = 3 };

struct gw_numeric_class {
    struct baton_numeric_class name;
    int index;                    /* of its place */
    uint32_t n_workers;           /* 0: none now */
    struct baton_block_hash root; /* of the hashes of its KV blocks */
    bool has_root;
    int64_t served_ns[GW_N_ROLES]; /* when each role last had a worker of it; 0: never */
};

struct gw_numeric_classes {
    struct gw_numeric_class places[GW_MAX_CLASSES];
};

void gw_numeric_classes_init(struct gw_numeric_classes *classes);

/* Adds the worker of a Hello to its class, or removes a worker from its class. */
struct gw_numeric_class *gw_numeric_classes_join(struct gw_numeric_classes *classes,
                                                 const Baton__V1__Hello *hello);
void gw_numeric_classes_leave(struct gw_numeric_class *numeric_class);

/* Whether there is a place for a worker of that class. */
bool gw_numeric_classes_may_join(const struct gw_numeric_classes *classes, const char *name);

/* The class with that name, if it has or had workers; else NULL. */
const struct gw_numeric_class *gw_numeric_classes_find(const struct gw_numeric_classes *classes,
                                                       const struct baton_numeric_class *name);

/* A set of classes, by their places. */
typedef uint32_t gw_class_set;

enum { GW_NO_CLASS = 0 };
static const gw_class_set gw_any_class = ~(gw_class_set)0;

/* The set of one; empty for NULL. */
static inline gw_class_set gw_class_set_of(const struct gw_numeric_class *numeric_class)
{
    return numeric_class ? (gw_class_set)1 << numeric_class->index : GW_NO_CLASS;
}

#endif
