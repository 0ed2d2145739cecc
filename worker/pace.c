#include "worker/pace.h"

#include <math.h>

#include "common/base/clock.h"

/* ---- progress ---- */

/* A poller that was stopped must not count its own pause as the other's. */
static const double longest_gap_s = 0.5, usual_times = 8;

/* The patience before any work is measured: the first step may read gigabytes of weights from a
 * disk. */
static const double unknown_s = 10;

double baton_progress_poll(struct baton_progress *progress, bool has_work, uint64_t n_done,
                           int64_t now_ns)
{
    double gap_s = progress->polled_ns ? baton_seconds(now_ns - progress->polled_ns) : 0;
    bool is_still = has_work && n_done == progress->n_done;
    progress->still_s = is_still ? progress->still_s + fmin(gap_s, longest_gap_s) : 0;
    progress->n_done = n_done;
    progress->polled_ns = now_ns;
    return progress->still_s;
}

double baton_progress_patience_s(double floor_s, double usual_s)
{
    return fmax(floor_s, usual_s > 0 ? usual_times * usual_s : unknown_s);
}

/* ---- step line ---- */

/* The assumed ratio of a step's base cost to its cost per row, until steps of several sizes measure
 * it. The base is mostly the read of the weights, which does not depend on the number of rows. */
static const double prior_base_rows = 10;

/* The assumption weighs as much as this many steps of which half have no rows and half have twice
 * the mean. So a few steps of another size, with their noise, do not overturn it. */
static const double prior_steps = 16;

/* Seconds of work after which older steps have faded. */
static const double memory_s = 20;

void baton_step_line_add(struct baton_step_line *line, double rows, double seconds)
{
    double kept = seconds < memory_s ? 1 - seconds / memory_s : 0;
    line->n = line->n * kept + 1;
    line->rows = line->rows * kept + rows;
    line->seconds = line->seconds * kept + seconds;
    line->rows_squared = line->rows_squared * kept + rows * rows;
    line->products = line->products * kept + rows * seconds;
}

void baton_step_line_fit(const struct baton_step_line *line, double *base_s, double *per_row_s)
{
    *base_s = *per_row_s = 0;
    if (!(line->n > 0) || !(line->rows > 0))
        return;
    double rows = line->rows / line->n, seconds = line->seconds / line->n;
    double variance = fmax(line->rows_squared / line->n - rows * rows, 0);
    double covariance = line->products / line->n - rows * seconds;
    double prior = seconds / (prior_base_rows + rows);
    double weight = prior_steps * rows * rows;
    double slope = (line->n * covariance + weight * prior) / (line->n * variance + weight);
    *per_row_s = fmin(fmax(slope, 0), seconds / rows);
    *base_s = fmax(seconds - *per_row_s * rows, 0); /* rounding may make it negative */
}
