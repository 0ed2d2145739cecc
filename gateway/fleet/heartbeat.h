/* Heartbeats between the gateway and its workers: how often they come, and how long a worker may be
 * silent.
 *
 * A fleet exchanges so many beats a second at most, each way. Beyond a hundred workers the pause
 * between two beats of a worker grows with their number, and with it the silence after which it is
 * suspect or lost. The gateway tells each worker its pause (Status.beat_s); a worker whose process
 * ends is noticed by its connection, whatever the pause.
 *
 * Ownership, Threading, Errors: pure functions.
 */
#ifndef BATON_GATEWAY_FLEET_HEARTBEAT_H
#define BATON_GATEWAY_FLEET_HEARTBEAT_H

#include "gateway/fleet/worker.h"

enum { GW_BEATS_PER_S = 400, GW_DEAD_BEATS = 6, GW_BUNCHES_PER_PAUSE = 16 };

struct gw_heartbeat {
    int64_t beat_ns;    /* the pause in a small fleet */
    int64_t silence_ns; /* a worker that says nothing for so long is lost; 0: for six beats */
    unsigned per_s;     /* of all workers together, at most: GW_BEATS_PER_S; 0: any number */
};

/* The pause of a fleet of n workers. With a silence_ns six beats fit into it, as they do in a small
 * fleet. */
int64_t gw_heartbeat_pause_ns(const struct gw_heartbeat *heartbeat, size_t n_workers);

/* The same for one of them, which may not take longer pauses than that of a small fleet. */
int64_t gw_heartbeat_worker_pause_ns(const struct gw_heartbeat *heartbeat, size_t n_workers,
                                     const struct gw_worker *worker);

/* When a worker of that pause is told the next beat. The beats of a large fleet come in bunches, so
 * that many cost one wake-up of each thread that they pass; a worker answers such a beat with its
 * own (common/wire/member.h). */
int64_t gw_heartbeat_due_ns(const struct gw_heartbeat *heartbeat, int64_t pause_ns, int64_t now_ns);

/* The silence after which a worker of that pause is lost; after half of it, it is suspect. */
int64_t gw_heartbeat_dead_ns(const struct gw_heartbeat *heartbeat, int64_t pause_ns);

#endif
