/* Whose blocks: a worker's account of its KV pool, by request and by reason.
 *
 *     begin --add, for every request there is--> end: checked, and told to the gateway that asked
 *
 * A worker checks itself whenever it has become idle, and for every query. A fault (a block with
 * another holder than its requests, or none) is logged and counted, in Status too: it is an error
 * of the program, and the count stays 0.
 *
 * Ownership: the report borrows the pool.
 * Threading: main thread, which owns the pool and every request's place in it.
 * Errors:    none.
 */
#ifndef BATON_WORKER_KV_REPORT_H
#define BATON_WORKER_KV_REPORT_H

#include "engine/kv.h"
#include "worker/origin.h"

struct baton_kv_owner {
    const struct baton_origin *origin;
    const struct baton_seq *seq; /* without blocks it is no owner */
    Baton__V1__KvReason reason;
    int64_t since_ns, reason_ns; /* it came; the reason began */
    bool canceled;
};

struct baton_kv_report {
    struct baton_kv *kv;
    uint64_t n_faults; /* since the process began */
    bool was_busy;     /* requests were here after the last check */
    int64_t checked_ns;

    /* while one is made */
    const Baton__V1__KvQuery *query; /* NULL: a check alone */
    Baton__V1__KvAccount answer;
    Baton__V1__KvHeld held[BATON_N_KV_REASONS], *held_list[BATON_N_KV_REASONS];
    Baton__V1__KvOwner owners[BATON_MAX_KV_OWNERS], *owner_list[BATON_MAX_KV_OWNERS];
};

void baton_kv_report_init(struct baton_kv_report *report, struct baton_kv *kv);

/* Whether a worker with that many requests shall check itself now: once after it became idle, and
 * at most once a second, because a check looks at every block. */
bool baton_kv_report_is_due(struct baton_kv_report *report, size_t n_requests, int64_t now_ns);

/* query is borrowed until end, and NULL for a check alone. */
void baton_kv_report_begin(struct baton_kv_report *report, const Baton__V1__KvQuery *query);
void baton_kv_report_add(struct baton_kv_report *report, const struct baton_kv_owner *owner);
/* Blocks that the prefix cache holds for a while, for no request: they count as cached. */
void baton_kv_report_add_cached(struct baton_kv_report *report, const struct baton_seq *seq);
/* Counts and logs faults, and answers the query over the link it came in on. */
void baton_kv_report_end(struct baton_kv_report *report, struct baton_link *gateway);

#endif
