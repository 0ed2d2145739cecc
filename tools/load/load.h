/* Drives requests: sources start them, calls carry them, records keep the results.
 *
 *     source --due--> in flight --+--> over
 *                        ^        +--> waiting (429, to be retried) --+
 *                        +--------------------------------------------+
 *
 * Every request that was started ends as done, failed, canceled or cut; ld_load_run checks it.
 *
 * Ownership: the load borrows loop, pool, setting and records; sources are embedded.
 * Threading: the loop's; ld_load_run runs it.
 * Errors:    NO_MEMORY, IO (of the loop), and those of the turn callback.
 */
#ifndef BATON_TOOLS_LOAD_LOAD_H
#define BATON_TOOLS_LOAD_LOAD_H

#include "tools/load/http/call.h"
#include "tools/load/workload/source.h"

enum { LD_MAX_SOURCES = 2 };

BATON_LIST(ld_call_list, struct ld_call, node)

struct ld_load {
    uv_loop_t *loop;
    struct ld_setting *setting;
    struct ld_records *records;
    int run; /* number of the run, for the records */
    struct ld_source sources[LD_MAX_SOURCES];
    int n_sources;
    int64_t timeout_ns; /* of one attempt; 0: none */
    int64_t cut_ns;     /* time at which all requests in progress are cut; INT64_MAX: never */
    bool stopping;      /* the operator interrupted: no request starts, and all are cut */
    /* Called on every turn of the loop; may be NULL, and may set begin_ns, stop_ns and cut_ns. */
    enum baton_err (*on_turn)(struct ld_load *load, int64_t now_ns);
    void *arg;

    /* ---- state ---- */
    struct ld_call_list running, waiting, over;
    uv_prepare_t turn;
    uv_timer_t janitor;
    uv_poll_t alarm; /* a timerfd, since libuv's own timers count in milliseconds */
    int alarm_fd;
    int64_t alarm_ns; /* the time that is set */
    enum baton_err err;
    int64_t began_ns, ended_ns;
    uint64_t n_by_outcome[LD_N_OUTCOMES];
    uint64_t n_over_tokens; /* of requests that have ended */
};

/* Runs the sources to their ends. The settings are filled in; the rest is zero. */
enum baton_err ld_load_run(struct ld_load *load, struct baton_why *why) BATON_MUST_CHECK;

#endif
