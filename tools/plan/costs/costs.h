/* Costs on one kind of machine, as measured there: all that the simulator knows about it.
 *
 *     pass of n rows             = curve(n) + position_s x sum over its prompts of
 *                                  rows x (positions before + rows / 2)
 *     step of n sequences        = curve(n) + position_s x sum of their contexts, from one step to
 *                                  the next: choosing and sending included
 *     of the positions, `share` see no more than the window of layers that have one
 *     times a factor drawn from the stage's spread, times `beside` while others of the host compute
 *
 * A curve is straight between its points, constant below the first one, and above the last one
 * continues as between the last two.
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

/* The variation of a time: its quantiles 0, 10, 25, 50, 75, 90, 95, 99 and 100 %, divided by the
 * typical one. */
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

/* Layers with a window: for this share of attention's work, no row attends further back than
 * n_tokens. */
struct sim_window {
    double n_tokens; /* 0: no layer has one */
    double share;    /* 0..1 */
};

struct sim_costs {
    char model[SIM_NAME_BYTES];
    double kv_token_bytes; /* 0: unknown */
    double state_bytes;    /* that a context has besides, of layers that keep a state */
    int n_layers;          /* layers that hold K and V; 0: unknown */
    int chunk;             /* rows of a measured pass; 0: unknown */
    struct sim_window window;
    /* Times of a request whose workers are idle: to its first pass, from the end of its last pass
     * to the client, and the variation of both. */
    double before_s, after_s;
    struct sim_spread way;
    /* From the end of the last pass until the context is received, with the time of each token not
     * yet sent.
     */
    double handoff_s, handoff_token_s;
    int n; /* number of cores' entries, at least 1, in ascending order */
    struct sim_core_costs cores[SIM_MAX_CORES];
};

/* The work of one pass or step. */
struct sim_work {
    double n;         /* rows, or sequences */
    double positions; /* as above: sim_attended */
    double factor;    /* drawn */
};

/* Return the positions that n rows after `past` positions attend to, and those that one step of a
 * sequence with that context attends to. */
double sim_attended(const struct sim_window *window, double past, double n);
double sim_seen(const struct sim_window *window, double context);

/* Return the seconds on that many cores of its own, at least as many as the first entry has.
 * Between entries they depend on 1 / n_cores; above the last one they do not decrease. */
double sim_pass_s(const struct sim_costs *costs, double n_cores, const struct sim_work *work);
double sim_step_s(const struct sim_costs *costs, double n_cores, const struct sim_work *work);

/* Returns the entry whose cores are nearest to n_cores. */
const struct sim_core_costs *sim_costs_near(const struct sim_costs *costs, double n_cores);

double sim_curve_at(const struct sim_curve *curve, double n);

/* Returns a spread of a constant factor 1. */
struct sim_spread sim_spread_none(void);
/* Returns the quantiles of n >= 1 measurements, each divided by the typical one, scaled a little so
 * that draws have their mean. Sorts the measurements. */
struct sim_spread sim_spread_of(double *values, int n);
double sim_spread_draw(const struct sim_spread *spread, struct ld_rng *rng);

#endif
