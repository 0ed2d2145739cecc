/* Durations that are gathered one by one and told by their percentiles.
 *
 * Ownership: embedded, zeroed to begin with; the values belong to it until sv_samples_fini.
 * Threading: one owner at a time.
 * Errors:    memory that is out sticks in `failed`, and the summary is of what fit.
 */
#ifndef BATON_BENCH_SERVE_SAMPLES_H
#define BATON_BENCH_SERVE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

struct sv_samples {
    double *values;
    size_t n, cap;
    bool failed;
};

/* Percentiles are by nearest rank: the least value that at least p % of all do not exceed. All are
 * NAN when n is 0. */
struct sv_summary {
    size_t n;
    double mean, min, p50, p90, p95, p99, max;
};

void sv_samples_add(struct sv_samples *samples, double value);
void sv_samples_fini(struct sv_samples *samples);

/* Sorts the values. */
struct sv_summary sv_samples_summarize(struct sv_samples *samples);

/* Of n sorted values, n >= 1; p in 0..100. */
double sv_percentile(const double *sorted, size_t n, double p);

#endif
