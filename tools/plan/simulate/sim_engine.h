/* The cores of a worker: one pass or step at a time, as fast as they are.
 *
 *     own      every worker has a machine: its cores are always its own
 *     pinned   one machine, fixed cores: memory is shared, so others that compute slow it down
 *     elastic  one machine whose workers lend each other idle cores, by the rule of
 *              common/policy/core_shares.h
 *
 * When a worker of a shared machine becomes busy or idle, the work in progress there continues at
 * another speed: its event is added again with a new stamp, which invalidates the old event.
 *
 * Ownership: engines are embedded in workers; a host borrows them.
 * Threading: one owner.
 * Errors:    none; events: as their queue.
 */
#ifndef BATON_TOOLS_PLAN_SIMULATE_SIM_ENGINE_H
#define BATON_TOOLS_PLAN_SIMULATE_SIM_ENGINE_H

#include "common/base/error.h"
#include "common/policy/core_shares.h"
#include "tools/plan/costs/costs.h"
#include "tools/plan/simulate/event_queue.h"

enum sim_cores { SIM_CORES_OWN, SIM_CORES_PINNED, SIM_CORES_ELASTIC };

/* Reads one of the words above. INVALID names the option and the words. */
enum baton_err sim_cores_parse(const char *option, const char *text, enum sim_cores *cores,
                               struct baton_why *why) BATON_MUST_CHECK;

struct sim_engine;

struct sim_host {
    enum sim_cores mode;
    int n_cores; /* ELASTIC: of the machine; otherwise of each worker */
    const struct sim_costs *costs;
    struct sim_events *events;
    /* PINNED, ELASTIC */
    struct sim_engine *engines[BATON_CORE_WORKERS_MAX];
    struct baton_core_worker roles[BATON_CORE_WORKERS_MAX];
    int n_engines;
};

struct sim_engine {
    struct sim_host *host;
    enum baton_core_role role;
    int index;    /* among the host's engines */
    void *worker; /* the owner, a sim_prefill or sim_decode */
    bool busy;
    uint32_t stamp; /* of the valid event */
    struct sim_work work;
    double left;       /* fraction of the work that is left, as of since_ns */
    double duration_s; /* duration of all of it at the present speed */
    int64_t since_ns;
    int64_t began_ns; /* begin of the current work */
    double busy_s;    /* time of all finished work */
};

void sim_engine_init(struct sim_engine *engine, struct sim_host *host, enum baton_core_role role,
                     void *worker);

/* Marks the engine busy from the first of several works to the last. */
void sim_engine_set_busy(struct sim_engine *engine, bool busy, int64_t now_ns);

/* Begins work; the engine is busy. A SIM_COMPUTED event with the engine as its subject follows. */
void sim_engine_start(struct sim_engine *engine, const struct sim_work *work, int64_t now_ns);

/* True when the event is the end of its work, which is then added to busy_s. */
bool sim_engine_ended(struct sim_engine *engine, const struct sim_event *event);

#endif
