#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/observe/advice.h"

enum { N_WORKERS = 3 };

static struct gw_worker workers[N_WORKERS];
static struct gw_fleet fleet;
static struct gw_arrivals arrivals;

/* Two prefill workers of 1000 tokens a second, a decode worker of 1000 with sixteen sequences. */
SETUP(setup)
{
    memset(workers, 0, sizeof workers);
    memset(&fleet, 0, sizeof fleet);
    memset(&arrivals, 0, sizeof arrivals);
    gw_worker_list_init(&fleet.workers);
    fleet.terms.kv_block_tokens = 16;
    for (int i = 0; i < N_WORKERS; i++) {
        bool is_decode = i == N_WORKERS - 1;
        workers[i].role = is_decode ? BATON__V1__ROLE__ROLE_DECODE : BATON__V1__ROLE__ROLE_PREFILL;
        workers[i].state = GW_WORKER_READY;
        workers[i].status = (Baton__V1__Status){.step_base_s = is_decode ? 0.008 : 0.064,
                                                .step_row_s = 0.0005,
                                                .step_max_rows = is_decode ? 16 : 128,
                                                .kv_blocks_total = 1000};
        gw_worker_list_push_back(&fleet.workers, &workers[i]);
    }
}

static int64_t ask(int n, double n_prompt, double n_output)
{
    int64_t now_ns = BATON_SECOND;
    for (int i = 0; i < n; i++) {
        gw_arrivals_arrived(&arrivals, now_ns);
        gw_arrivals_prompt(&arrivals, n_prompt, now_ns);
        gw_arrivals_finished(&arrivals, n_output, n_prompt + n_output, now_ns);
        now_ns += BATON_SECOND / 4;
    }
    return now_ns;
}

TEST(without_a_workload_all_is_unknown)
{
    struct gw_advice now = gw_advice_now(&fleet, &arrivals, BATON_SECOND);
    assert_int_equal(now.advice.shortage, BATON_SHORT_UNKNOWN);
    assert_true(isnan(now.advice.ratio) && isnan(now.observed.rate_per_s));
    assert_true(now.fleet.n_prefill == 2 && now.fleet.n_decode == 1);
}

TEST(a_step_has_no_more_sequences_than_states_serve)
{
    int64_t now_ns = ask(100, 480, 11);
    assert_true(gw_advice_now(&fleet, &arrivals, now_ns).fleet.decode.max_rows > 4);
    workers[N_WORKERS - 1].status.kv_states_total = 8;
    assert_true(gw_advice_now(&fleet, &arrivals, now_ns).fleet.decode.max_rows == 4);
}

TEST(a_prefill_heavy_load_says_so)
{
    struct gw_advice now = gw_advice_now(&fleet, &arrivals, ask(100, 480, 11));
    assert_int_equal(now.advice.shortage, BATON_SHORT_PREFILL);
    assert_true(fabs(now.advice.prefill_utilisation - 0.96) < 0.03);
    assert_true(fabs(now.advice.decode_utilisation - 0.04) < 0.01);
    assert_true(fabs(now.advice.ratio - 48) < 1e-6);
    assert_true(now.advice.n_prefill == 3 && now.advice.n_decode == 1);
}

TEST(a_decode_heavy_load_says_so)
{
    struct gw_advice now = gw_advice_now(&fleet, &arrivals, ask(100, 10, 300));
    assert_int_equal(now.advice.shortage, BATON_SHORT_DECODE);
    assert_true(now.advice.ratio < 0.1);
}

TEST(few_kv_blocks_are_small_steps)
{
    int64_t now_ns = ask(100, 110, 50);
    double roomy = gw_advice_now(&fleet, &arrivals, now_ns).advice.decode_utilisation;
    workers[N_WORKERS - 1].status.kv_blocks_total = 20; /* two contexts of 160 tokens */
    double tight = gw_advice_now(&fleet, &arrivals, now_ns).advice.decode_utilisation;
    assert_true(fabs(tight / roomy - 4.5) < 0.01);
}

TEST(a_worker_that_is_not_ready_does_not_count)
{
    workers[0].state = GW_WORKER_DRAINING;
    workers[1].status.step_base_s = workers[1].status.step_row_s = 0; /* knows nothing yet */
    struct gw_advice now = gw_advice_now(&fleet, &arrivals, ask(100, 480, 11));
    assert_true(now.fleet.n_prefill == 1);
    assert_int_equal(now.advice.shortage, BATON_SHORT_UNKNOWN);
    assert_false(isnan(now.advice.decode_utilisation));
}

TEST(the_unknown_is_null_in_json_and_nan_in_gauges)
{
    struct baton_buf buf;
    struct gw_advice now = gw_advice_now(&fleet, &arrivals, BATON_SECOND);
    baton_buf_init(&buf, 1 << 16);
    struct baton_json_out out = baton_json_out(&buf);
    gw_advice_put(&out, &now);
    assert_non_null(strstr(baton_buf_text(&buf), "\"short\":\"unknown\""));
    assert_non_null(strstr(baton_buf_text(&buf), "\"balanced_ratio\":null"));
    gw_advice_write(&now, &buf);
    assert_non_null(
        strstr(baton_buf_text(&buf), "\nbaton_role_utilisation_ratio{role=\"prefill\"} NaN\n"));
    baton_buf_fini(&buf);
}

EACH_TEST(setup, NULL)
