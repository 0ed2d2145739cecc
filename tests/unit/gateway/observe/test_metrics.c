#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "gateway/observe/metrics.h"

TEST(every_stage_has_a_histogram_and_every_outcome_a_counter)
{
    struct gw_metrics metrics = {0};
    struct baton_buf out;
    baton_buf_init(&out, 1 << 20);
    baton_hist_observe(&metrics.stages[BATON_STAGE_kv_transfer], 0.01);
    metrics.outcomes[GW_OUTCOME_canceled] = 3;
    gw_metrics_write(&metrics, &out);
    const char *text = baton_buf_text(&out);
    for (int i = 0; i < BATON_N_STAGES; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "baton_stage_duration_seconds_count{stage=\"%s\"} %d\n",
                       baton_stage_name((enum baton_stage)i), i == BATON_STAGE_kv_transfer);
        assert_non_null(strstr(text, line));
    }
    assert_non_null(strstr(text, "baton_requests_total{outcome=\"canceled\"} 3\n"));
    assert_non_null(strstr(text, "baton_requests_total{outcome=\"ok\"} 0\n"));
    baton_buf_fini(&out);
}

static int n_good(struct gw_slo slo, double ttft_s, double longest_gap_s)
{
    struct gw_metrics metrics = {.slo = slo};
    gw_metrics_note_latency(&metrics, ttft_s, longest_gap_s);
    return (int)metrics.n_good;
}

TEST(a_request_is_good_that_keeps_every_slo)
{
    struct gw_slo both = {.ttft_s = 0.2, .itl_s = 0.05}, none = {0};
    assert_int_equal(n_good(both, 0.2, 0.05), 1);
    assert_int_equal(n_good(both, 0.21, 0.01), 0);
    assert_int_equal(n_good(both, 0.1, 0.06), 0);
    assert_int_equal(n_good(none, 100, 100), 1);
    assert_int_equal(n_good((struct gw_slo){.itl_s = 0.05}, 100, 0.05), 1);
}
