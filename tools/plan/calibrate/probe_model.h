/* Measures the costs of the engine in this process: no server, no network, nothing between steps.
 *
 * Ownership: the options are borrowed.
 * Threading: the main thread, plus the engine's compute pool.
 * Errors:    those of opening a model and of computing.
 */
#ifndef BATON_TOOLS_PLAN_CALIBRATE_PROBE_MODEL_H
#define BATON_TOOLS_PLAN_CALIBRATE_PROBE_MODEL_H

#include "tools/plan/calibrate/probe.h"

/* Measures options->model and adds the results to *costs. */
enum baton_err sim_probe_model(const struct plan_calibrate_options *options,
                               struct sim_costs *costs, struct baton_why *why) BATON_MUST_CHECK;

#endif
