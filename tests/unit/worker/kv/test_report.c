/* The faults that a worker's account of its KV pool finds, and the times when it is due. */
#include "tests/support/test.h"

#include "common/base/clock.h"
#include "engine/kv/pool.h"
#include "worker/kv/report.h"

enum { N_BLOCKS = 12, BLOCK = BATON_KV_BLOCK_TOKENS };

static const struct baton_spec spec = {.n_layers = 1,
                                       .layers = {{.n_kv_heads = 1, .head_dim = 4, .kv_from = 0}}};
static const struct baton_kv_layout layout = {.spec = &spec, .auto_dtype = "f32"};

static struct baton_kv *kv;
static struct baton_kv_report report;

SETUP(set_up)
{
    assert_ok(baton_kv_create_of(
        layout, &(struct baton_kv_pool_options){.dtype = "f32", .n_blocks = N_BLOCKS}, &kv, NULL));
    baton_kv_report_init(&report, kv);
}

TEARDOWN(tear_down)
{
    baton_kv_destroy(kv);
}

static struct baton_seq take(int n_blocks)
{
    struct baton_seq seq;
    assert_ok(baton_seq_init(&seq, kv, n_blocks * BLOCK));
    return seq;
}

/* A check with this request alone, or (NULL) with none. */
static void check(const struct baton_seq *seq)
{
    const struct baton_origin origin = {0};
    baton_kv_report_begin(&report, NULL);
    if (seq)
        baton_kv_report_add(&report,
                            &(struct baton_kv_owner){.origin = &origin,
                                                     .seq = seq,
                                                     .reason = BATON__V1__KV_REASON__KV_RUNNING});
    baton_kv_report_end(&report, NULL);
}

TEST(blocks_that_no_request_holds_are_faults_and_stay_counted)
{
    struct baton_seq seq = take(3);
    check(&seq);
    assert_int_equal(report.n_faults, 0);
    check(NULL);
    assert_int_equal(report.n_faults, 3);
    check(&seq);
    assert_int_equal(report.n_faults, 3);
    baton_seq_fini(&seq);
    check(NULL);
    assert_int_equal(report.n_faults, 3);
}

TEST(a_block_with_more_requests_than_the_pool_knows_is_a_fault)
{
    const struct baton_origin origin = {0};
    struct baton_seq seq = take(2);
    const struct baton_kv_owner owner = {
        .origin = &origin, .seq = &seq, .reason = BATON__V1__KV_REASON__KV_RUNNING};
    baton_kv_report_begin(&report, NULL);
    baton_kv_report_add(&report, &owner);
    baton_kv_report_add(&report, &owner);
    baton_kv_report_end(&report, NULL);
    assert_int_equal(report.n_faults, 2);
    baton_seq_fini(&seq);
}

TEST(a_check_is_due_once_after_the_worker_became_idle)
{
    int64_t now_ns = baton_now_ns() + BATON_SECOND;
    assert_false(baton_kv_report_is_due(&report, 0, now_ns)); /* nothing has been here */
    assert_false(baton_kv_report_is_due(&report, 1, now_ns));
    assert_true(baton_kv_report_is_due(&report, 0, now_ns));
    check(NULL);
    now_ns = baton_now_ns();
    assert_false(baton_kv_report_is_due(&report, 0, now_ns + 5 * BATON_SECOND));
    assert_false(baton_kv_report_is_due(&report, 1, now_ns));
    assert_false(baton_kv_report_is_due(&report, 0, now_ns)); /* at most once a second */
    assert_true(baton_kv_report_is_due(&report, 0, now_ns + BATON_SECOND));
}

EACH_TEST(set_up, tear_down)
