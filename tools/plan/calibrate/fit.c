#include "tools/plan/calibrate/fit.h"

#include <math.h>
#include <stdlib.h>

/* ---- passes ---- */

/* Returns position_s. The time of a whole prompt is the time of its passes plus position_s times
 * the positions that it attends to: without windows half its length squared. A prompt of several
 * whole chunks takes longer than as many prompts of one chunk, and the difference gives
 * position_s. */
static double pass_position_s(const struct sim_measured *measured, double chunk_s)
{
    const struct sim_prompt_point *last = &measured->prompts[measured->n_prompts - 1];
    double chunk = measured->chunk, n_chunks = last->n_tokens / chunk;
    double positions = sim_attended(&measured->window, 0, last->n_tokens) -
                       n_chunks * sim_attended(&measured->window, 0, chunk);
    return positions > 0 ? fmax((last->compute_s - n_chunks * chunk_s) / positions, 0) : 0;
}

static double chunk_s(const struct sim_measured *measured)
{
    double seconds = measured->prompts[0].compute_s;
    for (int i = 0; i < measured->n_prompts; i++)
        if (measured->prompts[i].n_tokens <= measured->chunk)
            seconds = measured->prompts[i].compute_s;
    return seconds;
}

static void fit_passes(const struct sim_measured *measured, struct sim_stage_cost *cost)
{
    struct sim_curve *curve = &cost->curve;
    cost->position_s = pass_position_s(measured, chunk_s(measured));
    curve->n = 0;
    for (int i = 0; i < measured->n_prompts; i++) {
        const struct sim_prompt_point *point = &measured->prompts[i];
        /* A longer prompt takes several passes, and the curve describes one. */
        if (point->n_tokens > measured->chunk)
            break;
        double attention_s = cost->position_s * sim_attended(&measured->window, 0, point->n_tokens);
        curve->at[curve->n] = point->n_tokens;
        /* At least 1 ns: noise must not make a time zero or negative, which a costs file
         * refuses. */
        curve->s[curve->n++] = fmax(point->compute_s - attention_s, 1e-9);
    }
}

/* ---- steps ---- */

static double step_position_s(const struct sim_measured *measured)
{
    const struct sim_step_point *far = &measured->long_step;
    for (int i = 0; i < measured->n_steps; i++) {
        const struct sim_step_point *near = &measured->steps[i];
        double positions = far->n * (sim_seen(&measured->window, far->positions) -
                                     sim_seen(&measured->window, near->positions));
        /* Only equal batches can be compared: the difference of their times is then that of their
         * contexts. */
        if (near->n == far->n && positions > 0)
            return fmax((far->step_s - near->step_s) / positions, 0);
    }
    return 0;
}

static void fit_steps(const struct sim_measured *measured, struct sim_stage_cost *cost)
{
    struct sim_curve *curve = &cost->curve;
    cost->position_s = step_position_s(measured);
    curve->n = measured->n_steps;
    for (int i = 0; i < measured->n_steps; i++) {
        const struct sim_step_point *point = &measured->steps[i];
        double attention_s =
            cost->position_s * point->n * sim_seen(&measured->window, point->positions);
        curve->at[i] = point->n;
        curve->s[i] = fmax(point->step_s - attention_s, 1e-9);
    }
}

void sim_fit_costs(const struct sim_measured *measured, struct sim_core_costs *costs)
{
    fit_passes(measured, &costs->pass);
    fit_steps(measured, &costs->step);
}

/* ---- ways ---- */

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Returns the time from the end of a prompt's last pass until its context was received. The second
 * token came one step later. */
static double handoff_of(const struct sim_prompt_point *point, const struct sim_core_costs *costs,
                         const struct sim_window *window, double after_s)
{
    double step_s = sim_curve_at(&costs->step.curve, 1) +
                    costs->step.position_s * sim_seen(window, point->n_tokens + 1);
    return fmax(after_s + point->second_s - step_s, 0);
}

/* Fits the hand-off to two prompts that are too short to overlap. */
static void fit_handoff(const struct sim_measured *measured, const struct sim_core_costs *costs,
                        struct sim_costs *all)
{
    const struct sim_prompt_point *first = &measured->prompts[0], *last = first;
    for (int i = 0; i < measured->n_prompts && measured->prompts[i].n_tokens < 128; i++)
        last = &measured->prompts[i];
    double first_s = handoff_of(first, costs, &measured->window, all->after_s);
    double more_s = handoff_of(last, costs, &measured->window, all->after_s) - first_s;
    double more_tokens = last->n_tokens - first->n_tokens;
    all->handoff_token_s = more_tokens > 0 ? fmax(more_s / more_tokens, 0) : 0;
    all->handoff_s = fmax(first_s - first->n_tokens * all->handoff_token_s, 0);
}

void sim_fit_ways(const struct sim_measured *measured, const struct sim_core_costs *costs,
                  struct sim_costs *all)
{
    double before[SIM_MAX_POINTS], after[SIM_MAX_POINTS];
    for (int i = 0; i < measured->n_prompts; i++) {
        before[i] = measured->prompts[i].before_s;
        after[i] = measured->prompts[i].after_s;
    }
    all->before_s = median(before, measured->n_prompts);
    all->after_s = median(after, measured->n_prompts);
    fit_handoff(measured, costs, all);
}
