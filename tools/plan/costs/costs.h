/* Costs on one kind of machine, as measured there: all that the simulator knows about it.
 *
 *     pass of n rows             = curve(n) + position_s x sum over its prompts of
 *                                  rows x (positions before + rows / 2)
 *     step of n sequences        = curve(n) + position_s x sum of their contexts, from one step to
 *                                  the next: choosing and sending included
 *     of the positions, `share` see no more than the window of layers that have one
 *     times a factor drawn from the stage's spread, times `beside` while others of the host compute
 *
 * A curve goes straight from point to point, stays at the first one below it, and goes on above the
 * last as between the last two.
 *
 * Ownership: plain data.
 * Threading: pure functions.
 * Errors:    none.
 */
#ifndef BATON_TOOLS_PLAN_COSTS_COSTS_H
#define BATON_TOOLS_PLAN_COSTS_COSTS_H

#include <stdbool.h>

#include "tools/load/workload/rng.h"

enum { SIM_MAX_POINTS = 16, SIM_MAX_CORES = 8, SIM_N_QUANTILES = 9, SIM_NAME_BYTES = 128 };

struct sim_curve {
    int n;                     /* at least 1; n ascends */
    double at[SIM_MAX_POINTS]; /* rows, or sequences */
    double s[SIM_MAX_POINTS];
};

/* How much a time varies: quantiles 0, 10, 25, 50, 75, 90, 95, 99, 100 % of it over the typical
 * one.
 */
struct sim_spread {
    double factor[SIM_N_QUANTILES];
};

extern const double sim_quantiles[SIM_N_QUANTILES]; /* 0..1 */

struct sim_stage_cost {
    struct sim_curve curve;
    double position_s;
    struct sim_spread spread;
    double beside; /* factor, at least 1 */
};

struct sim_core_costs {
    int n_cores; /* of a worker */
    struct sim_stage_cost pass, step;
};

/* Layers with a window: of attention's work this share looks no further back than n_tokens. */
struct sim_window {
    double n_tokens; /* 0: no layer has one */
    double share;    /* 0..1 */
};

struct sim_costs {
    char model[SIM_NAME_BYTES];
    double kv_token_bytes; /* 0: not known */
    int n_layers;          /* that hold K and V; 0: not known */
    int chunk;             /* rows of a pass that were measured; 0: not known */
    struct sim_window window;
    /* Times of a request whose workers are idle: to its first pass, from the end of its last pass
     * to the client, and how much both vary. */
    double before_s, after_s;
    struct sim_spread way;
    /* From the end of the last pass to the context received, and more for each token not yet sent.
     */
    double handoff_s, handoff_token_s;
    int n; /* of cores, at least 1, ascending */
    struct sim_core_costs cores[SIM_MAX_CORES];
};

/* What one pass or step does. */
struct sim_work {
    double n;         /* rows, or sequences */
    double positions; /* as above: sim_attended */
    double factor;    /* drawn */
};

/* What n rows attend to that follow `past` positions, and what one step of a sequence does with so
 * long a context. */
double sim_attended(const struct sim_window *window, double past, double n);
double sim_seen(const struct sim_window *window, double context);

/* Seconds on so many cores of its own, at least as many as the first entry has; between entries it
 * goes by 1 / n_cores, above the last one it does not get faster. */
double sim_pass_s(const struct sim_costs *costs, double n_cores, const struct sim_work *work);
double sim_step_s(const struct sim_costs *costs, double n_cores, const struct sim_work *work);

/* The entry for the cores nearest to n_cores. */
const struct sim_core_costs *sim_costs_near(const struct sim_costs *costs, double n_cores);

double sim_curve_at(const struct sim_curve *curve, double n);

/* No spread at all. */
struct sim_spread sim_spread_none(void);
/* Of n >= 1 measurements, each over what is typical: their quantiles, scaled a little so that what
 * is drawn has their mean. Sorts them. */
struct sim_spread sim_spread_of(double *values, int n);
double sim_spread_draw(const struct sim_spread *spread, struct ld_rng *rng);

#endif
