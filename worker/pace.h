/* Measures of a worker's work: its progress, its rate, and the cost of a step.
 *
 * Progress: how long a counter of finished work has not changed while there was work. Another
 * thread polls it. The time between two polls counts for at most half a second, because the poller
 * may have been stopped together with the thread that it watches.
 *
 * Rate: the mean over the last seconds of work, idle time not counted.
 *
 * Step line: the cost of a step by its number of rows, seconds = base + rows x per_row, fitted to
 * the steps of the last seconds of work. Steps of one size only do not determine both. Until others
 * come, the fit assumes a fixed ratio of base to per_row (prior_base_rows in pace.c).
 *
 * Ownership: plain data; valid when zeroed.
 * Threading: none; one owner.
 * Errors:    none.
 */
#ifndef BATON_WORKER_PACE_H
#define BATON_WORKER_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* ---- progress ---- */

struct baton_progress {
    uint64_t n_done;
    int64_t polled_ns; /* 0: never */
    double still_s;
};

/* Updates the progress with whether there is work and how much was done in all. Returns the seconds
 * without progress while there was work. */
double baton_progress_poll(struct baton_progress *progress, bool has_work, uint64_t n_done,
                           int64_t now_ns);

/* The seconds without progress after which work counts as stalled: floor_s, or many times the usual
 * time of one unit; usual_s 0: that is not known yet, so the patience is long. */
double baton_progress_patience_s(double floor_s, double usual_s);

/* ---- rate ---- */

struct baton_rate {
    double n, seconds; /* both fade alike */
    double busy_s;     /* in all */
};

/* Adds n units that took `seconds` of work. */
static inline void baton_rate_add(struct baton_rate *rate, double n, double seconds)
{
    static const double memory_s = 2;
    double kept = seconds < memory_s ? 1 - seconds / memory_s : 0;
    rate->n = rate->n * kept + n;
    rate->seconds = rate->seconds * kept + seconds;
    rate->busy_s += seconds;
}

/* The rate; 0: not known yet. */
static inline double baton_rate_per_s(const struct baton_rate *rate)
{
    return rate->seconds > 0 ? rate->n / rate->seconds : 0;
}

/* ---- step line ---- */

struct baton_step_line {
    double n, rows, seconds, rows_squared, products; /* sums, which all fade alike */
};

/* Adds a step of so many rows and seconds. */
void baton_step_line_add(struct baton_step_line *line, double rows, double seconds);

/* Fits the line. Both 0: nothing is known yet. Never negative. */
void baton_step_line_fit(const struct baton_step_line *line, double *base_s, double *per_row_s);

#endif
