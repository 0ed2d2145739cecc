/* Estimates the waits of a fleet's clients in closed form.
 *
 * The first token: prompts arrive at random and wait for one of P workers, as in M/G/c (Erlang's C
 * for the share that waits at all, the Allen-Cunneen factor (1 + cv^2) / 2 for the duration), then
 * run.
 *
 *     TTFT = wait + base x prefill_steps + prompt_tokens x per_row
 *
 * Later tokens: each of D workers steps all its n sequences together. By Little's law
 *
 *     n = arrivals at a worker x steps x (base + per_row (n + 1)),    ITL = base + per_row (n + 1)
 *
 * because a sequence meets n others and itself. Tails: waits are exponential; the number of
 * sequences is assumed to be Poisson distributed.
 *
 * Ownership: plain values.
 * Threading: pure functions.
 * Errors:    none; NaN where the load has no steady state (utilisation 1 or more) or the costs are
 *            unknown.
 */
#ifndef BATON_COMMON_CAPACITY_QUEUEING_H
#define BATON_COMMON_CAPACITY_QUEUEING_H

#include "common/capacity/capacity.h"

struct baton_estimate {
    double wait_s;             /* of a prompt for a prefill worker: the mean */
    double ttft_s, ttft_p99_s; /* without HTTP, tokenizing and transport */
    double sequences;          /* of a decode worker: the mean */
    double itl_s, itl_p99_s;
};

struct baton_estimate baton_queueing_estimate(const struct baton_fleet *fleet,
                                              const struct baton_workload *workload);

/* Returns the share of arrivals that find all n servers busy, when `load` of them are busy on
 * average, by Erlang's C formula. 1 for load >= n. */
double baton_queueing_erlang_c(double n, double load);

#endif
