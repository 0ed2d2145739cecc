/* Decides when the next request is due.
 *
 * A closed source keeps `concurrency` slots busy. An open source starts each request when it is
 * due, independent of the others, with at most max_in_flight at a time. Further ones wait here, and
 * their clock runs from when they were due.
 *
 * Ownership: embedded in a load.
 * Threading: the loop's.
 * Errors:    none.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_SOURCE_H
#define BATON_TOOLS_LOAD_WORKLOAD_SOURCE_H

#include "tools/load/workload/workload.h"

enum ld_arrivals { LD_CLOSED, LD_POISSON, LD_PERIODIC, LD_TRACE };

struct ld_load;

struct ld_source {
    /* ---- settings ---- */
    const char *name;
    struct ld_workload workload;
    enum ld_arrivals arrivals;
    int concurrency;    /* CLOSED */
    double rate_per_s;  /* POISSON, PERIODIC */
    double trace_speed; /* TRACE: 2 is twice as fast */
    int64_t n_requests; /* 0: no bound */
    int64_t begin_ns;   /* first start; 0: as soon as the load runs; INT64_MAX: not known yet */
    int64_t stop_ns;    /* no request starts from then on; INT64_MAX: no such time */
    int max_in_flight;  /* open */
    int max_retries;    /* of a 429; closed */

    /* ---- state ---- */
    struct ld_load *load;
    bool ended;                /* no more requests start */
    uint64_t n_due, n_started; /* the difference was held back until stop_ns and never sent */
    uint64_t n_held;           /* sent later than due, because of max_in_flight */
    int64_t next_due_ns;       /* open; 0: not known yet */
    int64_t full_ns;           /* last time that one was due at max_in_flight */
    int n_in_flight;           /* includes waiting ones */
};

bool ld_source_is_open(const struct ld_source *source);

/* True when another request will become due. */
bool ld_source_has_more(const struct ld_source *source);

/* True when no request will start any more. */
bool ld_source_is_exhausted(const struct ld_source *source, int64_t now_ns);

/* True when a request must start now; *due_ns is when its clock began. The caller starts it with
 * ld_source_take, or calls again later. Counts requests that were too late to be sent. */
bool ld_source_is_due(struct ld_source *source, int64_t now_ns, int64_t *due_ns);

/* Counts a request as started, and returns its plan. */
struct ld_plan ld_source_take(struct ld_source *source);

/* Returns when to call ld_source_is_due again, unless a request ends before; INT64_MAX: never. */
int64_t ld_source_next_ns(const struct ld_source *source, int64_t now_ns);

#endif
