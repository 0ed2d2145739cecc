/* One worker as the gateway knows it: its identity, its link, its state and its load.
 *
 *     JOINING --first Status--> READY <--a Status, silence--> SUSPECT
 *        |                        ^                              |
 *        +-- a Status that says --+-- and one that does not <----+
 *        |   stalled              v
 *        |                     STALLED
 *        |                        |                              |
 *        +---- Goodbye, or a Status that says draining ----------+--> DRAINING
 *
 *     any but DRAINING --a Status with a failed canary--> UNHEALTHY --as above--> DRAINING
 *
 * A stalled worker sends heartbeats, but its engine makes no progress: it gets no work, and its
 * requests are retried on other workers. The same holds for an unhealthy worker, whose results have
 * changed since its start: it stays unhealthy until its process is restarted.
 *
 * A worker that is gone has no state, because the fleet frees it.
 *
 * Ownership: the fleet owns workers; others borrow them until on_lost (fleet.h).
 * Threading: loop thread.
 * Errors:    an edge that is not in the drawing is a bug and aborts. A send that fails takes the
 *            worker's link down, and the next tick drops the worker.
 */
#ifndef BATON_GATEWAY_FLEET_WORKER_H
#define BATON_GATEWAY_FLEET_WORKER_H

#include "common/base/fingerprint.h"
#include "common/base/hash.h"
#include "common/base/list.h"
#include "common/policy/priority.h"
#include "common/wire/link.h"
#include "engine/checkpoint/facts.h"
#include "gateway/fleet/adapters.h"
#include "gateway/fleet/numeric_classes.h"
#include "gateway/fleet/worker_load.h"

#define GW_WORKER_STATES(X)                                                                        \
    X(JOINING, "joining")                                                                          \
    X(READY, "ready")                                                                              \
    X(SUSPECT, "suspect") X(STALLED, "stalled") X(UNHEALTHY, "unhealthy") X(DRAINING, "draining")

enum gw_worker_state {
#define X(name, text) GW_WORKER_##name,
    GW_WORKER_STATES(X)
#undef X
        GW_N_WORKER_STATES
};

/* Counts of a fleet's workers, so that what needs them in every tick need not visit each worker. */
struct gw_worker_census {
    size_t n[GW_N_ROLES][GW_N_WORKER_STATES];
    bool any_rejected; /* some worker may be backing off, or have rejected recently */
};

/* What a worker did. */
struct gw_worker_counts {
    uint64_t n_changes;         /* of its state or its Status */
    uint64_t n_steps, n_tokens; /* that it reported with StepEvents */
};

struct gw_worker {
    struct gw_worker_census *census; /* the fleet's */
    struct baton_node in_workers, in_due;
    struct baton_hash_node in_table;
    int64_t due_slot; /* its slot in the timing wheel */
    enum gw_worker_state state;
    int64_t state_ns; /* when it entered its state */
    Baton__V1__Role role;
    char id[BATON_MAX_ID_BYTES + 1];
    char address[BATON_MAX_TEXT_BYTES + 1];  /* inbox url as dialled */
    char bulk_url[BATON_MAX_TEXT_BYTES + 1]; /* prefill: "" without parts */
    char model[BATON_MAX_TEXT_BYTES + 1];
    struct baton_fingerprint fingerprint;
    struct gw_numeric_class *numeric_class;     /* the fleet's; NULL before it joins */
    char kernels[BATON_MAX_ID_BYTES + 1];       /* "": unknown */
    char numa[BATON_MAX_ID_BYTES + 1];          /* "node:0"; "": bound to no node */
    char draft_model[BATON_MAX_TEXT_BYTES + 1]; /* decode; "": none */
    char token[BATON_MAX_TEXT_BYTES + 1];       /* the cluster token that it sent last */
    uint32_t pid, n_cores;
    uint32_t state_interval; /* tokens between the states of a long prompt; 0: it keeps no state */
    bool embeds;             /* prefill: it computes embeddings */
    bool hands_over;         /* decode: it sends and receives running sequences */
    bool adapts;             /* it takes adapters at run time */
    bool was_given_adapters; /* those that were loaded before it joined */
    struct gw_adapters adapters;
    uint32_t pipe; /* the pipe on which it sends to us (common/wire/transport/inbox.h) */
    uint64_t epoch;
    struct baton_link *link;
    Baton__V1__Status status; /* the last one; a message of plain numbers, so a copy is whole */
    struct gw_worker_load load;
    double start_to_ready_s, model_load_s;
    int64_t beat_ns, beat_due_ns; /* the pause that it was sent last; when our next beat is due */
    int64_t max_beat_ns;          /* the longest pause that it accepts; 0: that of a small fleet */
    uint32_t tag;                 /* numbers this life of the worker: unique, never 0 */
    uint32_t n_active;            /* requests of this gateway that it has now */
    uint32_t n_stalls;            /* how often it was STALLED */
    struct gw_worker_counts now;  /* so far */
    struct gw_worker_counts told; /* of these, told by the feed (gateway/observe/feed.h) */
    uint64_t n_routed, turn;      /* requests routed to it; the number of the last such routing */
    double prompt_tokens_per_s;   /* measured on our prompts; 0: none yet */
    /* By class (enum baton_priority). backing_off: it rejected a reservation after its last Status,
     * so it gets no Reserve. recently_rejected: requests wait that were not offered to it since the
     * rejection, so it gets one Reserve at a time. */
    bool backing_off[BATON_N_PRIORITIES], recently_rejected[BATON_N_PRIORITIES];
};

BATON_LIST(gw_worker_list, struct gw_worker, in_workers)
BATON_HASH_TABLE(gw_worker_table, struct gw_worker, in_table)

/* Changes the state: checks the edge, takes the time, logs with the reason. Nothing else may set
 * it. */
void gw_worker_set_state(struct gw_worker *worker, enum gw_worker_state state, const char *reason);

/* Keeps the Status that the worker sent, and derives its load from it. */
void gw_worker_set_status(struct gw_worker *worker, const Baton__V1__Status *status);

/* The worker rejected a reservation for a request of the class: it backs off for this class, and
 * for batch requests too, which may use less of its capacity. And: it may have capacity again. */
void gw_worker_rejected(struct gw_worker *worker, enum baton_priority priority);
void gw_worker_may_have_capacity(struct gw_worker *worker);

/* Sends a message; request id and attempt, if any, are set by the caller. INVALID or LIMIT: the
 * worker would refuse the message, so it was not sent. Any other failure takes the worker's link
 * down, and the next tick drops the worker. */
enum baton_err gw_worker_send(struct gw_worker *worker, baton_envelope *envelope);

/* Whether it may get new work: it is READY, and its link is not down. A link may be down for a
 * moment before the fleet's tick drops the worker. */
bool gw_worker_is_there(const struct gw_worker *worker);

/* Closes the link and frees the worker, which must be in no list. */
void gw_worker_destroy(struct gw_worker *worker);

/* Prompt tokens a second, as reported by the worker or measured on our requests; 0: unknown. */
double gw_worker_prompt_rate(const struct gw_worker *worker);

/* Seconds that a prompt would wait there now; NAN: unknown. */
double gw_worker_wait_s(const struct gw_worker *worker);

const char *gw_worker_state_name(enum gw_worker_state state);
const char *gw_worker_role_name(Baton__V1__Role role);

#endif
