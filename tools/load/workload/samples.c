#include "tools/load/workload/samples.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/array.h"

void ld_samples_add(struct ld_samples *samples, double value)
{
    if (BATON_RESERVE(samples->values, samples->cap, samples->n + 1))
        samples->failed = true;
    else
        samples->values[samples->n++] = value;
}

void ld_samples_fini(struct ld_samples *samples)
{
    free(samples->values);
    *samples = (struct ld_samples){0};
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double ld_percentile(const double *sorted, size_t n, double p)
{
    size_t rank = (size_t)ceil(p * (double)n / 100);
    return sorted[rank ? rank - 1 : 0];
}

static double mean(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

struct ld_summary ld_samples_summarize(struct ld_samples *samples)
{
    double *values = samples->values;
    size_t n = samples->n;
    if (!n)
        return (struct ld_summary){0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    qsort(values, n, sizeof *values, compare);
    return (struct ld_summary){.n = n,
                               .mean = mean(values, n),
                               .min = values[0],
                               .p50 = ld_percentile(values, n, 50),
                               .p90 = ld_percentile(values, n, 90),
                               .p95 = ld_percentile(values, n, 95),
                               .p99 = ld_percentile(values, n, 99),
                               .max = values[n - 1]};
}
