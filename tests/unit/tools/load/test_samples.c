#include <math.h>

#include "tests/support/test.h"
#include "tools/load/workload/samples.h"

TEST(percentiles_are_by_nearest_rank)
{
    struct ld_samples samples = {0};
    for (int i = 200; i >= 1; i--)
        ld_samples_add(&samples, i);
    struct ld_summary summary = ld_samples_summarize(&samples);
    assert_int_equal(summary.n, 200);
    assert_true(summary.min == 1 && summary.p50 == 100 && summary.p90 == 180);
    assert_true(summary.p95 == 190 && summary.p99 == 198 && summary.max == 200);
    assert_true(summary.mean == 100.5);
    ld_samples_fini(&samples);
}

TEST(one_value_is_every_percentile)
{
    struct ld_samples samples = {0};
    ld_samples_add(&samples, 0.25);
    struct ld_summary summary = ld_samples_summarize(&samples);
    assert_true(summary.p50 == 0.25 && summary.p99 == 0.25 && summary.max == 0.25);
    ld_samples_fini(&samples);
}

TEST(of_nothing_there_is_no_percentile)
{
    struct ld_samples samples = {0};
    struct ld_summary summary = ld_samples_summarize(&samples);
    assert_int_equal(summary.n, 0);
    assert_true(isnan(summary.mean) && isnan(summary.p50) && isnan(summary.max));
}

TEST(few_values_keep_their_ranks)
{
    static const double sorted[] = {1, 2, 3};
    assert_true(ld_percentile(sorted, 3, 0) == 1);
    assert_true(ld_percentile(sorted, 3, 33) == 1);
    assert_true(ld_percentile(sorted, 3, 34) == 2);
    assert_true(ld_percentile(sorted, 3, 99) == 3);
    assert_true(ld_percentile(sorted, 3, 100) == 3);
}
