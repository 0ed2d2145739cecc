/* The workers: which ones joined, whether they live, and their last Status.
 *
 *     Hello --checks--> JOINING --first Status--> READY <--> SUSPECT --silent too long--> gone
 *       |    |                                      ^--> STALLED, while its engine is
 *       |    \--> Refused                            \--Goodbye--> DRAINING --link down--> gone
 *       \--wrong token: the pipe is closed, nothing is opened or dialled
 *
 * The fleet acts on a removed pipe at once, and on silence (a stopped process, a partition) after
 * six beats (heartbeat.h).
 *
 * Ownership: the fleet owns the workers; others borrow a pointer until on_lost was called for it.
 * Threading: loop thread.
 * Errors:    a worker that does not fit is answered with Refused and a reason, in both logs; of
 *            these, GW_MAX_REFUSED at a time.
 */
#ifndef BATON_GATEWAY_FLEET_FLEET_H
#define BATON_GATEWAY_FLEET_FLEET_H

#include <stdatomic.h>

#include "gateway/fleet/handshake.h"
#include "gateway/fleet/heartbeat.h"
#include "gateway/fleet/timing_wheel.h"

enum { GW_MAX_WORKERS = 4096, GW_MAX_REFUSED = 16, GW_WORKER_BUCKETS = 256 };

/* Hellos that brought no worker. */
struct gw_hello_stats {
    uint64_t n_strangers; /* without the fleet's token */
    uint64_t n_refused;   /* answered with Refused */
    uint64_t n_dropped;   /* not answered: it cannot be reached, or too many are being refused */
};

struct gw_fleet_options {
    struct gw_identity identity;
    struct baton_inbox *inbox;
    struct gw_heartbeat heartbeat;
    int64_t absence_ns;      /* for so long a role without a worker is awaited */
    void (*wake)(void *arg); /* called from NNG's threads when a link changes: tick */
    void *wake_arg;
    /* A message about a request, from a worker that joined. */
    void (*on_message)(void *arg, struct gw_worker *worker, const baton_envelope *envelope);
    /* The worker stays, but is stalled or unhealthy: its requests must go elsewhere. */
    void (*on_unfit)(void *arg, struct gw_worker *worker);
    /* The worker is gone; its pointer dies when this returns. */
    void (*on_lost)(void *arg, struct gw_worker *worker, const char *reason);
    /* A worker became able to take requests, or said how much capacity it has. */
    void (*on_capacity)(void *arg);
    void *arg;
};

struct gw_fleet {
    struct gw_fleet_options options;
    struct gw_worker_list workers;
    struct gw_worker_census census;
    struct gw_worker_bucket by_link[GW_WORKER_BUCKETS]; /* the same, by the id of their link */
    struct gw_timing_wheel due;                         /* the same, by when they are checked */
    atomic_bool links_changed;                          /* some worker's link may be down */
    struct gw_worker_list refused;                      /* links that still carry a Refused */
    struct gw_worker_list leaving; /* lost ones, whose links are still to be closed */
    struct gw_hello_stats hellos;
    struct gw_fleet_terms terms; /* settled by the first to join an empty fleet */
    struct gw_numeric_classes classes;
    uint32_t last_tag;
    int64_t ticked_ns, awake_ns;   /* the last tick; since when ticks came without a long pause */
    int64_t served_ns[GW_N_ROLES]; /* when each role last had a worker; 0 is no role */
    uint64_t n_suspected[GW_N_ROLES]; /* how often one of the role became SUSPECT */
};

void gw_fleet_init(struct gw_fleet *fleet, const struct gw_fleet_options *options);
void gw_fleet_fini(struct gw_fleet *fleet);

void gw_fleet_receive(struct gw_fleet *fleet, const struct baton_message *message, int64_t now_ns);

/* Sends heartbeats, drops workers whose link is down or, if heard_all, that are silent, and closes
 * one link that is no longer needed: NNG lets its caller wait, so a turn of the loop closes no
 * more. heard_all: every message that arrived was received. Call after every wake and every
 * beat / 4. It costs what is due, and all workers only after a link has changed. */
void gw_fleet_tick(struct gw_fleet *fleet, int64_t now_ns, bool heard_all);

/* Whether this process itself did not run for so long that nobody was heard meanwhile. */
bool gw_fleet_slept(const struct gw_fleet *fleet, int64_t now_ns);

/* Whether the worker may be at work: it is ready, or drains, and missed no two beats. */
bool gw_fleet_hears(const struct gw_fleet *fleet, const struct gw_worker *worker, int64_t now_ns);

/* Gives the worker no more work and tells it to finish what it has, and to stop. */
void gw_fleet_drain(struct gw_fleet *fleet, struct gw_worker *worker, const char *reason);

/* Loses every worker that has shown a token which is not accepted any more. */
void gw_fleet_token_changed(struct gw_fleet *fleet);

/* Tells every worker that this gateway is leaving. */
void gw_fleet_goodbye(struct gw_fleet *fleet);

/* How many workers of a role are in a state. */
size_t gw_fleet_n(const struct gw_fleet *fleet, Baton__V1__Role role, enum gw_worker_state state);

/* The numeric classes in which a role has a worker that is ready; or suspect: it may answer again.
 */
gw_class_set gw_fleet_ready(const struct gw_fleet *fleet, Baton__V1__Role role);
gw_class_set gw_fleet_serves(const struct gw_fleet *fleet, Baton__V1__Role role);

/* The numeric classes in which a worker of the role serves, or is awaited: one was there less than
 * absence_ns ago, or the gateway has only begun to run. */
gw_class_set gw_fleet_expects(const struct gw_fleet *fleet, Baton__V1__Role role, int64_t now_ns);

/* Whether a worker of the role is awaited, whatever its class: none is there, but one was less than
 * absence_ns ago, or the gateway has only begun to run. */
bool gw_fleet_awaits(const struct gw_fleet *fleet, Baton__V1__Role role, int64_t now_ns);

/* The longest prompt, and the longest prompt and output together, that the workers here can hold in
 * their KV caches; at most the model's context, which it is while no worker is known. */
int64_t gw_fleet_prompt_tokens(const struct gw_fleet *fleet);
int64_t gw_fleet_context_tokens(const struct gw_fleet *fleet);

#endif
