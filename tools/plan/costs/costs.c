#include "tools/plan/costs/costs.h"

#include <math.h>
#include <stdlib.h>

const double sim_quantiles[SIM_N_QUANTILES] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1};

/* ---- curves ---- */

double sim_curve_at(const struct sim_curve *curve, double n)
{
    const double *at = curve->at, *s = curve->s;
    int i = 1;
    if (curve->n == 1 || n <= at[0])
        return s[0];
    while (i < curve->n - 1 && n > at[i])
        i++;
    double slope = (s[i] - s[i - 1]) / (at[i] - at[i - 1]);
    return fmax(s[i - 1] + slope * (n - at[i - 1]), 0);
}

/* ---- positions ---- */

/* Sums the positions of n rows after `past`: row i attends to past + i, or to the window. */
double sim_attended(const struct sim_window *window, double past, double n)
{
    double whole = n * (past + n / 2), growing = fmin(fmax(window->n_tokens - past, 0), n);
    double windowed = growing * (past + growing / 2) + (n - growing) * window->n_tokens;
    return whole - window->share * (whole - windowed);
}

double sim_seen(const struct sim_window *window, double context)
{
    return context - window->share * fmax(context - window->n_tokens, 0);
}

static double stage_s(const struct sim_stage_cost *cost, const struct sim_work *work)
{
    return (sim_curve_at(&cost->curve, work->n) + cost->position_s * work->positions) *
           work->factor;
}

/* ---- cores ---- */

/* Interpolates between the times of two entries, straight in 1 / n_cores: the work that cores share
 * shrinks by that, and the rest stays. */
static double between(const struct sim_core_costs *few, double few_s,
                      const struct sim_core_costs *many, double many_s, double n_cores)
{
    double at = 1 / n_cores, from = 1.0 / few->n_cores, to = 1.0 / many->n_cores;
    return few_s + (many_s - few_s) * (at - from) / (to - from);
}

/* Returns the first entry with at least n_cores, or the last. */
static int entry_of(const struct sim_costs *costs, double n_cores)
{
    int i = 0;
    while (i < costs->n - 1 && costs->cores[i].n_cores < n_cores)
        i++;
    return i;
}

double sim_pass_s(const struct sim_costs *costs, double n_cores, const struct sim_work *work)
{
    int i = entry_of(costs, n_cores);
    const struct sim_core_costs *entry = &costs->cores[i];
    double entry_s = stage_s(&entry->pass, work);
    if (!i || entry->n_cores <= n_cores)
        return entry_s;
    return between(entry - 1, stage_s(&entry[-1].pass, work), entry, entry_s, n_cores);
}

double sim_step_s(const struct sim_costs *costs, double n_cores, const struct sim_work *work)
{
    int i = entry_of(costs, n_cores);
    const struct sim_core_costs *entry = &costs->cores[i];
    double entry_s = stage_s(&entry->step, work);
    if (!i || entry->n_cores <= n_cores)
        return entry_s;
    return between(entry - 1, stage_s(&entry[-1].step, work), entry, entry_s, n_cores);
}

const struct sim_core_costs *sim_costs_near(const struct sim_costs *costs, double n_cores)
{
    int i = entry_of(costs, n_cores);
    bool is_nearer_below =
        i && n_cores - costs->cores[i - 1].n_cores < costs->cores[i].n_cores - n_cores;
    return &costs->cores[is_nearer_below ? i - 1 : i];
}

/* ---- spread ---- */

struct sim_spread sim_spread_none(void)
{
    struct sim_spread spread;
    for (int i = 0; i < SIM_N_QUANTILES; i++)
        spread.factor[i] = 1;
    return spread;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double quantile(const double *sorted, int n, double q)
{
    double at = q * (n - 1);
    int below = (int)at, above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

static double mean(const double *values, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum / n;
}

/* Returns the mean of draws, which are straight between two quantiles. */
static double spread_mean(const struct sim_spread *spread)
{
    double sum = 0;
    for (int i = 1; i < SIM_N_QUANTILES; i++)
        sum += (sim_quantiles[i] - sim_quantiles[i - 1]) *
               (spread->factor[i - 1] + spread->factor[i]) / 2;
    return sum;
}

struct sim_spread sim_spread_of(double *values, int n)
{
    struct sim_spread spread;
    double true_mean = mean(values, n);
    qsort(values, (size_t)n, sizeof *values, compare);
    for (int i = 0; i < SIM_N_QUANTILES; i++)
        spread.factor[i] = quantile(values, n, sim_quantiles[i]);
    /* Quantiles lose the exact mean, which throughput depends on. */
    double drawn_mean = spread_mean(&spread);
    for (int i = 0; i < SIM_N_QUANTILES && drawn_mean > 0; i++)
        spread.factor[i] *= true_mean / drawn_mean;
    return spread;
}

double sim_spread_draw(const struct sim_spread *spread, struct ld_rng *rng)
{
    double unit = ld_rng_unit(rng);
    int i = 1;
    while (unit > sim_quantiles[i])
        i++;
    double part = (unit - sim_quantiles[i - 1]) / (sim_quantiles[i] - sim_quantiles[i - 1]);
    return spread->factor[i - 1] + part * (spread->factor[i] - spread->factor[i - 1]);
}
