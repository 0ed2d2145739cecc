#include "common/capacity/queueing.h"

#include <math.h>

/* One in a hundred: the tail of an exponential and, in deviations, that of a normal
 * distribution. */
static const double tail = 0.01, tail_deviations = 2.326;

/* Uses Erlang's B, whose recursion over the number of servers neither overflows nor cancels. */
double baton_queueing_erlang_c(double n, double load)
{
    double blocked = 1;
    if (!(load < n)) /* also for NaN */
        return 1;
    for (double k = 1; k <= n; k++)
        blocked = load * blocked / (k + load * blocked);
    return n * blocked / (n - load * (1 - blocked));
}

/* Returns the seconds that one prompt takes on an idle worker. */
static double alone_s(const struct baton_stage_cost *cost, double n_tokens)
{
    return cost->base_s * ceil(n_tokens / fmax(cost->max_rows, 1)) + cost->per_row_s * n_tokens;
}

static void estimate_first(const struct baton_fleet *fleet, const struct baton_workload *workload,
                           struct baton_estimate *estimate)
{
    double run_s = workload->prompt_tokens * baton_capacity_token_s(&fleet->prefill);
    double load = workload->rate_per_s * run_s, n_free = fleet->n_prefill - load;
    if (!(n_free > 0))
        return;
    double cv = workload->prompt_cv, waiting = baton_queueing_erlang_c(fleet->n_prefill, load);
    double while_waiting_s = run_s / n_free * (1 + cv * cv) / 2;
    double own_s = alone_s(&fleet->prefill, workload->prompt_tokens);
    estimate->wait_s = waiting * while_waiting_s;
    estimate->ttft_s = estimate->wait_s + own_s;
    /* Of waits that are rarer than one in a hundred the mean knows and the tail does not. */
    estimate->ttft_p99_s = fmax(estimate->ttft_s, fmax(log(waiting / tail), 0) * while_waiting_s +
                                                      own_s * (1 + tail_deviations * cv));
}

static void estimate_later(const struct baton_fleet *fleet, const struct baton_workload *workload,
                           struct baton_estimate *estimate)
{
    const struct baton_stage_cost *cost = &fleet->decode;
    double steps_per_s =
        workload->rate_per_s * fmax(workload->output_tokens - 1, 0) / fleet->n_decode;
    if (!(steps_per_s * baton_capacity_token_s(cost) < 1))
        return;
    double n = steps_per_s * (cost->base_s + cost->per_row_s) / (1 - steps_per_s * cost->per_row_s);
    double n_most = fmin(n + tail_deviations * sqrt(n), cost->max_rows - 1);
    estimate->sequences = n;
    estimate->itl_s = cost->base_s + cost->per_row_s * fmin(n + 1, cost->max_rows);
    estimate->itl_p99_s =
        fmax(estimate->itl_s, cost->base_s + cost->per_row_s * (fmax(n_most, 0) + 1));
}

struct baton_estimate baton_queueing_estimate(const struct baton_fleet *fleet,
                                              const struct baton_workload *workload)
{
    struct baton_estimate estimate = {NAN, NAN, NAN, NAN, NAN, NAN};
    estimate_first(fleet, workload, &estimate);
    estimate_later(fleet, workload, &estimate);
    return estimate;
}
