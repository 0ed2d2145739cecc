/* The fleet: the workers that joined, their states and their last Status.
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
 * Errors:    a worker that does not fit gets Refused with a reason, which both logs have. At most
 *            GW_MAX_REFUSED workers are being refused at a time.
 */
#ifndef BATON_GATEWAY_FLEET_FLEET_H
#define BATON_GATEWAY_FLEET_FLEET_H

#include <stdatomic.h>

#include "gateway/fleet/handshake.h"
#include "gateway/fleet/heartbeat.h"
#include "gateway/fleet/timing_wheel.h"

enum { GW_MAX_WORKERS = 4096, GW_MAX_REFUSED = 16 };

/* Counts of the Hellos that did not lead to a worker. */
struct gw_hello_stats {
    uint64_t n_strangers; /* without the fleet's token */
    uint64_t n_refused;   /* answered with Refused */
    uint64_t n_dropped;   /* not answered: sender unreachable, or too many are being refused */
};

struct gw_fleets;

struct gw_fleet_options {
    struct gw_identity identity;
    const struct gw_fleets *fleets; /* all of the gateway, this one among them; NULL: it is alone */
    struct baton_inbox *inbox;
    struct gw_heartbeat heartbeat;
    int64_t absence_ns;      /* how long requests wait for a role without workers */
    void (*wake)(void *arg); /* called from NNG's threads when a link changes: tick */
    void *wake_arg;
    /* A message about a request, from a worker that joined. */
    void (*on_message)(void *arg, struct gw_worker *worker, const baton_envelope *envelope);
    /* The worker stays, but is stalled or unhealthy: its requests must continue on others. */
    void (*on_unfit)(void *arg, struct gw_worker *worker);
    /* The worker is gone; its pointer is invalid after this returns. */
    void (*on_lost)(void *arg, struct gw_worker *worker, const char *reason);
    /* A worker became READY, or reported its capacity. */
    void (*on_capacity)(void *arg);
    void *arg;
};

struct gw_fleet {
    struct gw_fleet_options options;
    struct gw_worker_list workers;
    struct gw_worker_census census;
    struct gw_worker_table by_link; /* the workers by the id of their link */
    struct gw_timing_wheel due;     /* the workers by their next check */
    atomic_bool links_changed;      /* some worker's link may be down */
    struct gw_worker_list refused;  /* links that still carry a Refused */
    struct gw_worker_list leaving;  /* lost workers, whose links are still to be closed */
    struct gw_hello_stats hellos;
    struct gw_fleet_terms terms; /* settled by the first worker of an empty fleet */
    struct gw_numeric_classes classes;
    uint32_t last_tag;
    int64_t ticked_ns, awake_ns;      /* the last tick; the end of the last long pause of ticks */
    int64_t served_ns[GW_N_ROLES];    /* when each role last had a worker; [0] is no role */
    uint64_t n_suspected[GW_N_ROLES]; /* how often a worker of the role became SUSPECT */
};

void gw_fleet_init(struct gw_fleet *fleet, const struct gw_fleet_options *options);
void gw_fleet_fini(struct gw_fleet *fleet);

void gw_fleet_receive(struct gw_fleet *fleet, const struct baton_message *message, int64_t now_ns);

/* Sends heartbeats, drops workers whose link is down or, if heard_all, that are silent, and closes
 * one link that is no longer needed: NNG blocks its caller meanwhile, so a turn of the loop closes
 * only one. heard_all: every message that arrived was received. Call after every wake and every
 * beat / 4. Visits only workers that are due; visits all of them after a link has changed. */
void gw_fleet_tick(struct gw_fleet *fleet, int64_t now_ns, bool heard_all);

/* Whether this process itself was suspended for so long that workers' silence means nothing. */
bool gw_fleet_slept(const struct gw_fleet *fleet, int64_t now_ns);

/* Whether the worker may be computing: it is READY or DRAINING and has not missed two beats. */
bool gw_fleet_hears(const struct gw_fleet *fleet, const struct gw_worker *worker, int64_t now_ns);

/* Routes no more work to the worker, and orders it to finish its work and to stop. */
void gw_fleet_drain(struct gw_fleet *fleet, struct gw_worker *worker, const char *reason);

/* Drops every worker whose last token is no longer accepted. */
void gw_fleet_token_changed(struct gw_fleet *fleet);

/* Sends Goodbye to every worker: this gateway is leaving. */
void gw_fleet_goodbye(struct gw_fleet *fleet);

/* The number of workers of a role in a state. */
size_t gw_fleet_n(const struct gw_fleet *fleet, Baton__V1__Role role, enum gw_worker_state state);

/* The numeric classes in which a role has a READY worker; gw_fleet_serves also counts SUSPECT
 * workers, because they may answer again. */
gw_class_set gw_fleet_ready(const struct gw_fleet *fleet, Baton__V1__Role role);
gw_class_set gw_fleet_serves(const struct gw_fleet *fleet, Baton__V1__Role role);

/* The numeric classes in which a worker of the role serves or is expected back: the class had one
 * less than absence_ns ago, or the gateway itself started less than absence_ns ago. */
gw_class_set gw_fleet_expects(const struct gw_fleet *fleet, Baton__V1__Role role, int64_t now_ns);

/* Whether the role has no worker of any class but expects one: it had one less than absence_ns ago,
 * or the gateway itself started less than absence_ns ago. */
bool gw_fleet_awaits(const struct gw_fleet *fleet, Baton__V1__Role role, int64_t now_ns);

/* The longest prompt, and the longest prompt and output together, that the workers' KV caches can
 * hold; at most the model's context, which is also the answer of an empty fleet. */
int64_t gw_fleet_prompt_tokens(const struct gw_fleet *fleet);
int64_t gw_fleet_context_tokens(const struct gw_fleet *fleet);

#endif
