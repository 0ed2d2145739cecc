/* Heartbeats between the gateway and its workers: their rate, and the longest silence of a worker.
 *
 * A fleet exchanges at most GW_BEATS_PER_S beats a second in each direction. Beyond a hundred
 * workers the pause between two beats of a worker grows with their number, and with it the silence
 * after which it is suspect or lost. The gateway sends each worker its pause (Status.beat_s). The
 * end of a process closes its connection, which the gateway sees at once, whatever the pause.
 *
 * Ownership, Threading, Errors: pure functions.
 */
#ifndef BATON_GATEWAY_FLEET_HEARTBEAT_H
#define BATON_GATEWAY_FLEET_HEARTBEAT_H

#include "gateway/fleet/worker.h"

enum { GW_BEATS_PER_S = 400, GW_DEAD_BEATS = 6, GW_BUNCHES_PER_PAUSE = 16 };

struct gw_heartbeat {
    int64_t beat_ns;    /* the pause in a small fleet */
    int64_t silence_ns; /* the silence after which a worker is lost; 0: GW_DEAD_BEATS beats */
    unsigned per_s;     /* of all workers together, at most: GW_BEATS_PER_S; 0: any number */
};

/* The pause of a fleet of n workers. With a silence_ns six beats fit into it, as they do in a small
 * fleet. */
int64_t gw_heartbeat_pause_ns(const struct gw_heartbeat *heartbeat, size_t n_workers);

/* The same for one worker, whose max_beat_ns may demand a shorter pause. */
int64_t gw_heartbeat_worker_pause_ns(const struct gw_heartbeat *heartbeat, size_t n_workers,
                                     const struct gw_worker *worker);

/* When to send the next beat to a worker with that pause. A large fleet's beats are sent in
 * bunches, so that many of them cost one wake-up of each thread on their path; a worker answers
 * such a beat with its own (common/wire/member.h). */
int64_t gw_heartbeat_due_ns(const struct gw_heartbeat *heartbeat, int64_t pause_ns, int64_t now_ns);

/* The silence after which a worker with that pause is lost; after half of it, it is suspect. */
int64_t gw_heartbeat_dead_ns(const struct gw_heartbeat *heartbeat, int64_t pause_ns);

#endif
