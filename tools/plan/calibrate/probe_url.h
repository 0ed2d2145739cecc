/* Measures the costs of a server, from the stages of requests that run alone or a few at a time.
 *
 * Ownership: the options are borrowed.
 * Threading: the main thread.
 * Errors:    those of the load generator; PEER when requests fail or the server reports no stages.
 */
#ifndef BATON_TOOLS_PLAN_CALIBRATE_PROBE_URL_H
#define BATON_TOOLS_PLAN_CALIBRATE_PROBE_URL_H

#include "tools/plan/calibrate/probe.h"

/* Measures options->url and adds the results to *costs. */
enum baton_err sim_probe_url(const struct plan_calibrate_options *options, struct sim_costs *costs,
                             struct baton_why *why) BATON_MUST_CHECK;

#endif
