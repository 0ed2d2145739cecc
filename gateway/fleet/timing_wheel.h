/* A hashed timing wheel of the workers' next checks: a tick visits only the workers that are due
 * (G. Varghese, T. Lauck: "Hashed and Hierarchical Timing Wheels", 1987, scheme 6).
 *
 * Time is cut into slots; a worker is due at the end of its slot, so up to one slot late.
 *
 * Ownership: the wheel never owns its workers; a worker must be removed before it is freed.
 * Threading: loop thread.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_FLEET_TIMING_WHEEL_H
#define BATON_GATEWAY_FLEET_TIMING_WHEEL_H

#include "gateway/fleet/worker.h"

enum { GW_WHEEL_SLOTS = 128 };

BATON_LIST(gw_due_list, struct gw_worker, in_due)

struct gw_timing_wheel {
    struct gw_due_list slots[GW_WHEEL_SLOTS]; /* by number of the slot, modulo their count */
    struct gw_due_list due;
    int64_t slot_ns;
    int64_t turned_to; /* number of the first slot that has not ended */
};

/* slot_ns: > 0, how late a worker may be checked. */
void gw_timing_wheel_init(struct gw_timing_wheel *wheel, int64_t slot_ns, int64_t now_ns);

/* Schedules the check of a worker, which is in no slot, at due_ns; a past time counts as now. */
void gw_timing_wheel_put(struct gw_timing_wheel *wheel, struct gw_worker *worker, int64_t due_ns);

/* Removes the worker; no-op if it is in no slot. */
void gw_timing_wheel_remove(struct gw_timing_wheel *wheel, struct gw_worker *worker);

/* Removes a worker that is due from the wheel and returns it; NULL: none is due. */
struct gw_worker *gw_timing_wheel_take(struct gw_timing_wheel *wheel, int64_t now_ns);

#endif
