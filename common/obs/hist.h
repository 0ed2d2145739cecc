/* A histogram of durations with fixed buckets, 0.1 ms to 60 s, in the way of Prometheus.
 *
 * Ownership: embedded, initially zero.
 * Threading: one owner at a time.
 * Errors:    none; NaN and negative values count as 0.
 */
#ifndef BATON_COMMON_OBS_HIST_H
#define BATON_COMMON_OBS_HIST_H

#include <stdint.h>

enum { BATON_HIST_BUCKETS = 18 };

/* Upper bounds in seconds; the bucket after the last is +Inf. */
extern const double baton_hist_bounds_s[BATON_HIST_BUCKETS];

struct baton_hist {
    uint64_t counts[BATON_HIST_BUCKETS + 1];
    uint64_t n;
    double sum_s;
};

void baton_hist_observe(struct baton_hist *hist, double seconds);

#endif
