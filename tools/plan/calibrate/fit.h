/* Fits the costs of a worker to its measurements.
 *
 * Ownership: plain values; samples belong to the caller.
 * Threading: pure functions.
 * Errors:    none: the measurements are checked where they are made.
 */
#ifndef BATON_TOOLS_PLAN_CALIBRATE_FIT_H
#define BATON_TOOLS_PLAN_CALIBRATE_FIT_H

#include "tools/plan/costs/costs.h"

/* Medians of prompts that came one after another, each alone with its two workers. */
struct sim_prompt_point {
    double n_tokens;
    double compute_s;
    /* the rest of its time to first token; 0 if unknown, as in one process */
    double before_s, after_s;
    double second_s; /* from the first to the second token; 0 if unknown */
};

/* The typical time from step to step of n sequences with that many positions each. */
struct sim_step_point {
    double n, positions, step_s;
};

struct sim_measured {
    int chunk;
    struct sim_window window;                        /* of the model */
    struct sim_prompt_point prompts[SIM_MAX_POINTS]; /* ascending; the last one of several chunks */
    int n_prompts;                                   /* at least 2 */
    struct sim_step_point steps[SIM_MAX_POINTS];     /* ascending batches */
    int n_steps;                                     /* at least 1 */
    /* a batch like one of those, with longer contexts */
    struct sim_step_point long_step;
};

/* Fits the curves and position_s; leaves spread and beside unchanged. */
void sim_fit_costs(const struct sim_measured *measured, struct sim_core_costs *costs);

/* Fits the way and the hand-off, given the costs of the cores that were measured. */
void sim_fit_ways(const struct sim_measured *measured, const struct sim_core_costs *costs,
                  struct sim_costs *all);

#endif
