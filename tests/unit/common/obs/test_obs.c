#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "common/base/array.h"
#include "common/obs/prom.h"
#include "common/obs/stage.h"

TEST(observations_fall_into_the_bucket_that_bounds_them)
{
    struct baton_hist hist = {0};
    baton_hist_observe(&hist, 0.0001);
    baton_hist_observe(&hist, 0.00011);
    baton_hist_observe(&hist, 1000);
    baton_hist_observe(&hist, NAN);
    baton_hist_observe(&hist, -1);
    assert_int_equal(hist.n, 5);
    assert_int_equal(hist.counts[0], 3);
    assert_int_equal(hist.counts[1], 1);
    assert_int_equal(hist.counts[BATON_HIST_BUCKETS], 1);
    assert_true(fabs(hist.sum_s - 1000.00021) < 1e-9);
}

TEST(buckets_are_written_cumulatively)
{
    struct baton_hist hist = {0};
    struct baton_buf out;
    baton_buf_init(&out, 1 << 16);
    baton_hist_observe(&hist, 0.0002);
    baton_hist_observe(&hist, 100);
    baton_prom_hist(&out, "x_seconds", &hist, "stage", "a\"b");
    const char *text = baton_buf_text(&out);
    assert_non_null(strstr(text, "x_seconds_bucket{stage=\"a\\\"b\",le=\"0.0001\"} 0\n"));
    assert_non_null(strstr(text, "x_seconds_bucket{stage=\"a\\\"b\",le=\"0.00025\"} 1\n"));
    assert_non_null(strstr(text, "x_seconds_bucket{stage=\"a\\\"b\",le=\"+Inf\"} 2\n"));
    assert_non_null(strstr(text, "x_seconds_count{stage=\"a\\\"b\"} 2\n"));
    baton_buf_fini(&out);
}

TEST(a_sample_has_its_labels)
{
    struct baton_buf out;
    baton_buf_init(&out, 1 << 16);
    baton_prom_family(&out, "m", "gauge", "Help.");
    baton_prom_sample(&out, "m", 1.5, NULL);
    baton_prom_sample(&out, "m", 2, "a", "b", "c", "d", NULL);
    assert_string_equal(baton_buf_text(&out),
                        "# HELP m Help.\n# TYPE m gauge\nm 1.5\nm{a=\"b\",c=\"d\"} 2\n");
    baton_buf_fini(&out);
}

TEST(infinities_and_nan_are_spelled_as_prometheus_reads_them)
{
    struct baton_buf out;
    baton_buf_init(&out, 1 << 16);
    baton_prom_sample(&out, "m", -NAN, NULL);
    baton_prom_sample(&out, "m", INFINITY, NULL);
    baton_prom_sample(&out, "m", -INFINITY, "a", "b", NULL);
    assert_string_equal(baton_buf_text(&out), "m NaN\nm +Inf\nm{a=\"b\"} -Inf\n");
    baton_buf_fini(&out);
}

TEST(stages_have_their_contract_names)
{
    static const char *const names[] = {
        "parse",       "tokenize",    "queue",        "prefill_queue", "prefill_compute",
        "first_token", "kv_transfer", "decode_queue", "decode",        "sample",
        "decode_wait", "migration",   "detokenize",   "format",        "flush"};
    assert_int_equal(BATON_N_STAGES, BATON_N_OF(names));
    for (int i = 0; i < BATON_N_STAGES; i++)
        assert_string_equal(baton_stage_name((enum baton_stage)i), names[i]);
}
