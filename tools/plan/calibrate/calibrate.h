/* Measures what the simulator goes by, on a server or in this process.
 *
 * Ownership: a probe's samples belong to it until sim_calibrate has used them.
 * Threading: the main thread.
 * Errors:    those of what is measured; INVALID names the option.
 */
#ifndef BATON_PLAN_CALIBRATE_H
#define BATON_PLAN_CALIBRATE_H

#include "tools/load/samples.h"
#include "tools/plan/calibrate/fit.h"
#include "tools/plan/simulate/options.h"

/* How much slower passes and steps are while the other role computes, too; 1: no slower. */
struct sim_beside {
    double pass, step;
};

/* Something that can be measured. Times are typical ones; what single ones are over them is added
 * to the samples. */
struct sim_probe {
    const struct sim_options *options;
    struct ld_samples pass, step, way;
    enum baton_err (*measure_prompt)(struct sim_probe *probe, int n_tokens,
                                     struct sim_prompt_point *point, struct baton_why *why);
    /* n sequences whose prompts have n_prompt tokens. */
    enum baton_err (*measure_step)(struct sim_probe *probe, int n, int n_prompt,
                                   struct sim_step_point *point, struct baton_why *why);
    /* NULL: can not be measured. costs: as fitted so far. */
    enum baton_err (*measure_beside)(struct sim_probe *probe, const struct sim_core_costs *costs,
                                     struct sim_beside *beside, struct baton_why *why);
    bool has_ways; /* of requests: a server's */
};

/* Measures with the probe, adds what it found to *costs. */
enum baton_err sim_probe_run(struct sim_probe *probe, struct sim_costs *costs,
                             struct baton_why *why) BATON_MUST_CHECK;

/* Runs sim_probe_run with a probe of a server (calibrate_url.c) or of an engine in this process
 * (calibrate_model.c). */
enum baton_err sim_calibrate_url(const struct sim_options *options, struct sim_costs *costs,
                                 struct baton_why *why) BATON_MUST_CHECK;
enum baton_err sim_calibrate_model(const struct sim_options *options, struct sim_costs *costs,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* All of --calibrate: reads --calibration, measures, writes --out or to stdout. */
enum baton_err sim_calibrate(const struct sim_options *options,
                             struct baton_why *why) BATON_MUST_CHECK;

#endif
