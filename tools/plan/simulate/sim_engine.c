#include "tools/plan/simulate/sim_engine.h"

#include "common/base/clock.h"
#include "tools/support/cli.h"

enum baton_err sim_cores_parse(const char *option, const char *text, enum sim_cores *cores,
                               struct baton_why *why)
{
    static const char *const words[] = {"own", "pinned", "elastic"};
    int which = 0;
    enum baton_err err = cli_word_parse(option, text, words, 3, &which, why);
    if (!err)
        *cores = (enum sim_cores)which; /* the enum has this order */
    return err;
}

void sim_engine_init(struct sim_engine *engine, struct sim_host *host, enum baton_core_role role,
                     void *worker)
{
    *engine = (struct sim_engine){.host = host, .role = role, .worker = worker};
    if (host->mode == SIM_CORES_OWN)
        return;
    engine->index = host->n_engines;
    host->engines[host->n_engines] = engine;
    host->roles[host->n_engines++] = (struct baton_core_worker){.role = role};
}

/* ---- speed ---- */

static double work_s(const struct sim_engine *engine, double n_cores)
{
    const struct sim_costs *costs = engine->host->costs;
    return engine->role == BATON_CORE_PREFILL ? sim_pass_s(costs, n_cores, &engine->work)
                                              : sim_step_s(costs, n_cores, &engine->work);
}

static double beside(const struct sim_engine *engine, double n_cores)
{
    const struct sim_core_costs *near = sim_costs_near(engine->host->costs, n_cores);
    return engine->role == BATON_CORE_PREFILL ? near->pass.beside : near->step.beside;
}

/* True when the busy engine `other` may also use core. */
static bool uses(const struct sim_host *host, int other, int core)
{
    int cores[BATON_CORES_MAX];
    int n = baton_core_share(host->roles, host->n_engines, other, host->n_cores, cores);
    for (int i = 0; i < n; i++)
        if (cores[i] == core)
            return true;
    return false;
}

/* Returns the largest number of engines on one of this engine's cores: its threads wait for the
 * slowest. */
static int count_sharers(const struct sim_host *host, const int *cores, int n)
{
    int most = 1;
    for (int i = 0; i < n; i++) {
        int n_users = 0;
        for (int other = 0; other < host->n_engines; other++)
            n_users += host->roles[other].busy && uses(host, other, cores[i]);
        most = n_users > most ? n_users : most;
    }
    return most;
}

static double elastic_s(const struct sim_engine *engine)
{
    const struct sim_host *host = engine->host;
    int cores[BATON_CORES_MAX];
    int n = baton_core_share(host->roles, host->n_engines, engine->index, host->n_cores, cores);
    double alone_s = work_s(engine, n) * count_sharers(host, cores, n);
    /* On all cores no other engine can compute beside it. */
    return n < host->n_cores ? alone_s * beside(engine, n) : alone_s;
}

static bool has_company(const struct sim_engine *engine)
{
    const struct sim_host *host = engine->host;
    for (int i = 0; i < host->n_engines; i++)
        if (i != engine->index && host->roles[i].busy)
            return true;
    return false;
}

/* Returns the duration of all of the work at the present speed. */
static double duration_s(const struct sim_engine *engine)
{
    const struct sim_host *host = engine->host;
    if (host->mode == SIM_CORES_ELASTIC)
        return elastic_s(engine);
    double alone_s = work_s(engine, host->n_cores);
    bool shares = host->mode == SIM_CORES_PINNED && has_company(engine);
    return shares ? alone_s * beside(engine, host->n_cores) : alone_s;
}

static void schedule(struct sim_engine *engine, int64_t now_ns)
{
    engine->since_ns = now_ns;
    engine->duration_s = duration_s(engine);
    int64_t left_ns = (int64_t)(engine->left * engine->duration_s * 1e9);
    /* The new stamp invalidates the event of an earlier schedule, which stays in the queue. */
    sim_events_add(engine->host->events, now_ns + left_ns, SIM_COMPUTED, engine, ++engine->stamp);
}

static void change_speed(struct sim_engine *engine, int64_t now_ns)
{
    /* The time since since_ns ran at the old speed: subtract it before the new duration is set. */
    double passed_s = baton_seconds(now_ns - engine->since_ns);
    if (engine->duration_s > 0)
        engine->left -= passed_s / engine->duration_s;
    engine->left = engine->left > 0 ? engine->left : 0;
    schedule(engine, now_ns);
}

/* ---- busy and idle ---- */

void sim_engine_set_busy(struct sim_engine *engine, bool busy, int64_t now_ns)
{
    struct sim_host *host = engine->host;
    engine->busy = busy;
    if (host->mode == SIM_CORES_OWN)
        return;
    host->roles[engine->index].busy = busy;
    for (int i = 0; i < host->n_engines; i++)
        if (i != engine->index && host->engines[i]->busy)
            change_speed(host->engines[i], now_ns);
}

void sim_engine_start(struct sim_engine *engine, const struct sim_work *work, int64_t now_ns)
{
    engine->work = *work;
    engine->left = 1;
    engine->began_ns = now_ns;
    schedule(engine, now_ns);
}

bool sim_engine_ended(struct sim_engine *engine, const struct sim_event *event)
{
    if (event->stamp != engine->stamp)
        return false;
    engine->busy_s += baton_seconds(event->at_ns - engine->began_ns);
    return true;
}
