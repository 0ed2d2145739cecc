/* Measures of a worker's work: whether it goes on, how fast it goes, and what a step costs.
 *
 * Progress: how long a counter of finished work has stood still while there was work. Another
 * thread polls it. Time between two polls counts for at most half a second, because the poller may
 * have been stopped together with what it watches.
 *
 * Rate: the mean over the last seconds of work, idle time not counted.
 *
 * Step line: what a step costs by how many rows it has, seconds = base + rows x per_row, fitted to
 * the steps of the last seconds of work. Steps that were all of one size do not tell the two apart.
 * Until others come, the fit assumes a fixed ratio of base to per_row (prior_base_rows in pace.c).
 *
 * Ownership: plain data; zeroed it knows nothing.
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
    int64_t looked_ns; /* 0: never */
    double still_s;
};

/* What is there now: whether it has work, and how much it did in all. Returns for how many seconds
 * it has had work and done nothing. */
double baton_progress_look(struct baton_progress *progress, bool has_work, uint64_t n_done,
                           int64_t now_ns);

/* For how long something may stand still before it counts as stalled: floor_s, or many times what
 * one unit of its work usually takes; usual_s 0: that is not known yet, so for long. */
double baton_progress_patience_s(double floor_s, double usual_s);

/* ---- rate ---- */

struct baton_rate {
    double n, seconds; /* both fade alike */
    double busy_s;     /* in all */
};

/* n more were made within seconds of work. */
static inline void baton_rate_note(struct baton_rate *rate, double n, double seconds)
{
    static const double memory_s = 2;
    double kept = seconds < memory_s ? 1 - seconds / memory_s : 0;
    rate->n = rate->n * kept + n;
    rate->seconds = rate->seconds * kept + seconds;
    rate->busy_s += seconds;
}

/* 0: not known yet. */
static inline double baton_rate_per_s(const struct baton_rate *rate)
{
    return rate->seconds > 0 ? rate->n / rate->seconds : 0;
}

/* ---- step line ---- */

struct baton_step_line {
    double n, rows, seconds, rows_squared, products; /* sums, which all fade alike */
};

/* A step of so many rows took so long. */
void baton_step_line_note(struct baton_step_line *line, double rows, double seconds);

/* Both 0: nothing is known yet. Never negative. */
void baton_step_line_fit(const struct baton_step_line *line, double *base_s, double *per_row_s);

#endif
