/* The ownership report of a worker's KV pool: its blocks by request and by reason.
 *
 *     begin --add, for every request--> end: checked, and sent to the gateway that asked
 *
 * A worker checks itself whenever it becomes idle, and for every query. A fault (a block whose
 * holders are not its requests) is logged and counted, in Status too: it is an error of the
 * program, and the count stays 0.
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
    const struct baton_seq *seq; /* without blocks it is not an owner */
    Baton__V1__KvReason reason;
    int64_t since_ns, reason_ns; /* of its arrival; of the reason's begin */
    bool canceled;
};

struct baton_kv_report {
    struct baton_kv *kv;
    uint64_t n_faults; /* since the process began */
    bool was_busy;     /* there were requests after the last check */
    int64_t checked_ns;

    /* during a report */
    const Baton__V1__KvQuery *query; /* NULL: a check alone */
    Baton__V1__KvAccount answer;
    Baton__V1__KvHeld held[BATON_N_KV_REASONS], *held_list[BATON_N_KV_REASONS];
    Baton__V1__KvOwner owners[BATON_MAX_KV_OWNERS], *owner_list[BATON_MAX_KV_OWNERS];
};

void baton_kv_report_init(struct baton_kv_report *report, struct baton_kv *kv);

/* Whether a worker with that many requests should check itself now: once after it became idle, and
 * at most once a second, because a check visits every block. */
bool baton_kv_report_is_due(struct baton_kv_report *report, size_t n_requests, int64_t now_ns);

/* query is borrowed until end, and NULL for a check alone. */
void baton_kv_report_begin(struct baton_kv_report *report, const Baton__V1__KvQuery *query);
void baton_kv_report_add(struct baton_kv_report *report, const struct baton_kv_owner *owner);
/* Adds blocks that the prefix cache holds temporarily, for no request: they count as cached. */
void baton_kv_report_add_cached(struct baton_kv_report *report, const struct baton_seq *seq);
/* Counts and logs faults, and answers the query over the link it came in on. */
void baton_kv_report_end(struct baton_kv_report *report, struct baton_link *gateway);

#endif
