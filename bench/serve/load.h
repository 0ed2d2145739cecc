/* Drives requests: sources start them, calls carry them, records keep what came of them.
 *
 *     source --due--> in flight --+--> over
 *                        ^        +--> waiting (429, to be retried) --+
 *                        +--------------------------------------------+
 *
 * A closed source keeps `concurrency` slots busy; an open one starts requests when they are due,
 * whatever became of the others, and at most max_in_flight at a time: later ones wait here, and
 * their clock runs from when they were due.
 *
 * Every request that was started ends as done, failed, canceled or cut; sv_load_run checks it.
 *
 * Ownership: the load borrows loop, pool, setting and records; sources are embedded.
 * Threading: the loop's; sv_load_run runs it.
 * Errors:    NO_MEMORY, IO (of the loop), and what the turn callback returns.
 */
#ifndef BATON_BENCH_SERVE_LOAD_H
#define BATON_BENCH_SERVE_LOAD_H

#include "bench/serve/call.h"

enum { SV_MAX_SOURCES = 2 };

enum sv_arrivals { SV_CLOSED, SV_POISSON, SV_PERIODIC, SV_TRACE };

struct sv_source {
    /* ---- settings ---- */
    const char *name;
    struct sv_workload workload;
    enum sv_arrivals arrivals;
    int concurrency;    /* CLOSED */
    double rate_per_s;  /* POISSON, PERIODIC */
    double trace_speed; /* TRACE: 2 is twice as fast */
    int64_t n_requests; /* 0: no bound */
    int64_t begin_ns;   /* no request before; 0: as soon as the load runs; INT64_MAX: not known */
    int64_t stop_ns;    /* none from then on; INT64_MAX: no such time */
    int max_in_flight;  /* open */
    int max_retries;    /* of a 429; closed */

    /* ---- state ---- */
    struct sv_load *load;
    uint64_t n_due, n_started; /* the difference was never sent: it was held back until stop_ns */
    uint64_t n_held;           /* sent later than due, because of max_in_flight */
    int64_t next_due_ns;       /* open; 0: not known yet */
    int64_t full_ns;           /* when it last was at max_in_flight with one due */
    int n_in_flight;           /* waiting ones included */
};

BATON_LIST(sv_call_list, struct sv_call, node)

struct sv_load {
    uv_loop_t *loop;
    struct sv_setting *setting;
    struct sv_records *records;
    int run; /* its number, for the records */
    struct sv_source sources[SV_MAX_SOURCES];
    int n_sources;
    int64_t timeout_ns; /* of one attempt; 0: none */
    int64_t cut_ns;     /* what is under way then is cut; INT64_MAX: nothing is */
    bool stopping;      /* the operator had enough: nothing more starts, and all is cut */
    /* Called on every turn of the loop, or NULL; may set begin_ns, stop_ns and cut_ns. */
    enum baton_err (*on_turn)(struct sv_load *load, int64_t now_ns);
    void *arg;

    /* ---- state ---- */
    struct sv_call_list running, waiting, over;
    uv_prepare_t turn;
    uv_timer_t janitor;
    uv_poll_t alarm; /* on a timerfd: libuv's own timers count in milliseconds */
    int alarm_fd;
    int64_t alarm_ns; /* what it is set to */
    enum baton_err err;
    int64_t began_ns, ended_ns;
    uint64_t n_by_outcome[SV_N_OUTCOMES];
    uint64_t n_over_tokens; /* of requests that are over */
};

/* Runs the sources to their ends. The settings are filled; the rest is zero. */
enum baton_err sv_load_run(struct sv_load *load, struct baton_why *why) BATON_MUST_CHECK;

#endif
