/* The workers: who joined, whether they live, what they last said of themselves.
 *
 *     Hello --checks--> JOINING --first Status--> READY <--> SUSPECT --silent too long--> gone
 *            \--> Refused                            \--Goodbye--> DRAINING --link down--> gone
 *
 * A removed pipe is acted on at once; silence (a stopped process, a partition) after six beats.
 *
 * Ownership: the fleet owns the workers; others borrow a pointer until on_lost was called for it.
 * Threading: loop thread.
 * Errors:    a worker that does not fit is answered with Refused and a reason, in both logs.
 */
#ifndef BATON_GATEWAY_FLEET_FLEET_H
#define BATON_GATEWAY_FLEET_FLEET_H

#include "common/base/block_hash.h"
#include "common/base/fingerprint.h"
#include "common/base/list.h"
#include "common/checkpoint/facts.h"
#include "common/wire/link.h"
#include "gateway/fleet/worker_load.h"

enum { GW_MAX_WORKERS = 4096 };

enum gw_worker_state { GW_WORKER_JOINING, GW_WORKER_READY, GW_WORKER_SUSPECT, GW_WORKER_DRAINING };

/* The last Status, as plain data. */
struct gw_worker_status {
    uint32_t n_queued, n_running, n_queued_tokens;
    uint32_t kv_blocks_total, kv_blocks_free, kv_blocks_cached, kv_blocks_reserved;
    double last_step_s, busy_s, tokens_per_s, step_base_s, step_row_s;
    uint32_t step_max_rows, n_requests_max;
    uint64_t prefix_tokens, prefix_hit_tokens;
};

struct gw_worker {
    struct baton_node in_workers;
    enum gw_worker_state state;
    Baton__V1__Role role;
    char id[BATON_MAX_ID_BYTES + 1];
    char address[BATON_MAX_TEXT_BYTES + 1];  /* inbox url as dialled */
    char bulk_url[BATON_MAX_TEXT_BYTES + 1]; /* decode only */
    char model[BATON_MAX_TEXT_BYTES + 1];
    struct baton_fingerprint fingerprint;
    uint32_t pid, n_cores;
    uint64_t epoch;
    struct baton_link *link;
    struct gw_worker_status status;
    struct gw_worker_load load;
    double start_to_ready_s, model_load_s;
    int64_t beat_due_ns;
    uint32_t tag;               /* of this life: no other worker ever has it; never 0 */
    uint32_t n_active;          /* requests placed here by this gateway, now */
    uint64_t n_routed, turn;    /* in all; when the last one was, counted in placements */
    double prompt_tokens_per_s; /* at which it computed prompts of ours; 0: none yet */
    bool backing_off;           /* a reservation was rejected since the last Status */
    bool recently_rejected;     /* and some who wait have not been asked for since */
};

BATON_LIST(gw_worker_list, struct gw_worker, in_workers)

struct gw_fleet_options {
    uint64_t epoch;
    const char *gateway_id;
    struct baton_inbox *inbox;
    const struct baton_fingerprint *fingerprint; /* weights "" when this host has none */
    const struct baton_model_facts *facts;
    const char *cluster_token;
    int64_t beat_ns;
    int64_t silence_ns; /* a worker that says nothing for so long is lost; 0: for six beats */
    void (*wake)(void *arg);
    void *wake_arg;
    /* A message about a request, from a worker that joined. */
    void (*on_message)(void *arg, struct gw_worker *worker, const baton_envelope *envelope);
    /* The worker is gone; its pointer dies when this returns. */
    void (*on_lost)(void *arg, struct gw_worker *worker, const char *reason);
    /* A worker became able to take requests, or said how much room it has. */
    void (*on_capacity)(void *arg);
    void *arg;
};

/* What every worker of a fleet must share; set by the first to join an empty fleet. */
struct gw_fleet_terms {
    char weights[BATON_SHA256_HEX], dtype[BATON_MAX_ID_BYTES + 1], kv_dtype[BATON_MAX_ID_BYTES + 1];
    uint32_t kv_block_tokens;     /* 0: the fleet is empty */
    struct baton_block_hash root; /* of the hashes of its KV blocks */
    bool has_root;
};

struct gw_fleet {
    struct gw_fleet_options options;
    struct gw_worker_list workers;
    struct gw_worker_list refused; /* links that still carry a Refused */
    struct gw_fleet_terms terms;
    uint32_t last_tag;
    int64_t ticked_ns, awake_ns; /* the last tick; since when ticks came without a long pause */
};

void gw_fleet_init(struct gw_fleet *fleet, const struct gw_fleet_options *options);
void gw_fleet_fini(struct gw_fleet *fleet);

void gw_fleet_receive(struct gw_fleet *fleet, const struct baton_message *message, int64_t now_ns);

/* Beats, and notices who is down or, provided that all that arrived was heard, who is silent. Call
 * after every wake and every beat_ns / 4. */
void gw_fleet_tick(struct gw_fleet *fleet, int64_t now_ns, bool heard_all);

/* Tells everybody that this gateway is leaving. */
void gw_fleet_goodbye(struct gw_fleet *fleet);

/* How many workers of a role are in a state. */
size_t gw_fleet_n(const struct gw_fleet *fleet, Baton__V1__Role role, enum gw_worker_state state);
const char *gw_worker_state_name(enum gw_worker_state state);
const char *gw_worker_role_name(Baton__V1__Role role);

/* Sends for a request (id and attempt set by the caller). A failure takes the worker's link down.
 */
void gw_worker_send(struct gw_worker *worker, baton_envelope *envelope);

/* ---- between the fleet's files ---- */

/* The worker is gone for the reason given: on_lost is told, and it is freed. */
void gw_fleet_lose(struct gw_fleet *fleet, struct gw_worker *worker, const char *reason);
void gw_worker_free(struct gw_worker *worker);
void gw_worker_take_status(struct gw_worker *worker, const Baton__V1__Status *status);

#endif
