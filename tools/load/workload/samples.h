/* Durations that are collected one by one and summed up by their percentiles.
 *
 * Ownership: embedded, initially zero; it owns the values until ld_samples_fini.
 * Threading: one owner at a time.
 * Errors:    `failed` stays set after a failure of memory; the summary then covers the values that
 *            fit.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_SAMPLES_H
#define BATON_TOOLS_LOAD_WORKLOAD_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

struct ld_samples {
    double *values;
    size_t n, cap;
    bool failed;
};

/* Percentiles by nearest rank: the least value that at least p % of all do not exceed. All are NAN
 * when n is 0. */
struct ld_summary {
    size_t n;
    double mean, min, p50, p90, p95, p99, max;
};

void ld_samples_add(struct ld_samples *samples, double value);
void ld_samples_fini(struct ld_samples *samples);

/* Sorts the values. */
struct ld_summary ld_samples_summarize(struct ld_samples *samples);

/* Returns percentile p, 0..100, of n sorted values, n >= 1. */
double ld_percentile(const double *sorted, size_t n, double p);

#endif
