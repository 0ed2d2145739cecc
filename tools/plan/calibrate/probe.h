/* A probe measures the times of prompts and steps, and fits costs to them.
 *
 *     calibrate.c --> probe_url.c    a server, through HTTP      \
 *                \-> probe_model.c  an engine in this process   +--> probe.c: sizes, rounds, fit
 *
 * Ownership: a probe's samples belong to it; sim_probe_run frees them.
 * Threading: the main thread.
 * Errors:    those of the measurements; INVALID names the option.
 */
#ifndef BATON_TOOLS_PLAN_CALIBRATE_PROBE_H
#define BATON_TOOLS_PLAN_CALIBRATE_PROBE_H

#include "common/base/error.h"
#include "tools/load/workload/samples.h"
#include "tools/plan/calibrate/fit.h"

/* The options of `baton-plan calibrate`; the table in calibrate.c describes each. */
struct plan_calibrate_options {
    const char *url, *model, *dtype, *cores, *calibration, *out;
    int64_t worker_cores, chunk, max_batch, context_tokens, seed;
};

/* Factors by which passes and steps are slower while the other role computes as well; 1: no
 * slower. */
struct sim_beside {
    double pass, step;
};

/* An object of measurement. Its functions return typical times, and add each single time, divided
 * by the typical one, to the samples. */
struct sim_probe {
    const struct plan_calibrate_options *options;
    struct ld_samples pass, step, way;
    enum baton_err (*measure_prompt)(struct sim_probe *probe, int n_tokens,
                                     struct sim_prompt_point *point, struct baton_why *why);
    /* Measures a step of n sequences whose prompts have n_prompt tokens. */
    enum baton_err (*measure_step)(struct sim_probe *probe, int n, int n_prompt,
                                   struct sim_step_point *point, struct baton_why *why);
    /* NULL: cannot be measured. costs are those fitted so far. */
    enum baton_err (*measure_beside)(struct sim_probe *probe, const struct sim_core_costs *costs,
                                     struct sim_beside *beside, struct baton_why *why);
    bool has_ways; /* measures ways of requests through a server */
};

/* Returns the least context in which passes of that many rows can be measured. */
int sim_probe_context(int chunk);

/* Measures with the probe and adds the results to *costs. INVALID when the options' sizes leave
 * nothing to measure. */
enum baton_err sim_probe_run(struct sim_probe *probe, struct sim_costs *costs,
                             struct baton_why *why) BATON_MUST_CHECK;

#endif
