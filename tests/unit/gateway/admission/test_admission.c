#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/admission/admission.h"

static const struct gw_bounds bounds = {.max_queued = 100, .max_queued_tokens = 5000};
static const struct gw_load one = {
    .n_requests = 1, .n_tokens = 50, .max_new_tokens = 20, .left_s = INFINITY};
static struct gw_throughput throughput;
static struct gw_verdict verdict;
static int64_t now_ns;

static void move(enum gw_state from, enum gw_state to)
{
    gw_throughput_moved(&throughput, from, to, 50, now_ns);
}

static void line_up(int n)
{
    for (int i = 0; i < n; i++)
        move(GW_TOKENIZING, GW_QUEUED);
    gw_throughput_tick(&throughput, n, &(struct gw_standstill){false, false, false}, now_ns);
}

/* A fleet that gives a slot to ten requests a second (50 tokens, run in 10 ms), each for 1 s. */
SETUP(init)
{
    throughput = (struct gw_throughput){0};
    now_ns = BATON_SECOND;
    line_up(100);
    for (int i = 0; i < 100; i++) {
        now_ns += 90 * BATON_MS;
        move(GW_QUEUED, GW_PREFILLING);
        now_ns += 10 * BATON_MS;
        move(GW_PREFILLING, GW_DECODING);
        move(GW_DECODING, GW_DONE);
        gw_throughput_finished(&throughput, 21, 1);
    }
}

static bool judge(const struct gw_bounds *limits, const struct gw_load *load)
{
    return gw_admission_judge(limits, &throughput, load, &verdict);
}

static void refused(int status, enum gw_rejection reason, int retry_s)
{
    assert_int_equal(verdict.failure.status, status);
    assert_int_equal(verdict.reason, reason);
    assert_int_equal(verdict.retry_s, retry_s);
}

TEST(the_queue_is_bounded_by_requests)
{
    line_up(99);
    assert_true(judge(&bounds, &one));
    line_up(1);
    assert_false(judge(&bounds, &one));
    refused(429, GW_REJECTION_queue_full, 1); /* a slot comes free in a tenth of a second */
    assert_string_equal(verdict.failure.code, "queue_full");
}

TEST(the_queue_is_bounded_by_tokens)
{
    struct gw_load load = one;
    line_up(90);
    load.n_tokens = 500;
    assert_true(judge(&bounds, &load));
    load.n_tokens = 2000; /* 1500 too many: those of 30 requests, three seconds */
    assert_false(judge(&bounds, &load));
    refused(429, GW_REJECTION_queue_full, 3);
}

TEST(a_batch_counts_every_generation_and_comes_in_whole)
{
    struct gw_load load = one;
    line_up(50);
    load.n_requests = 50;
    assert_true(judge(&bounds, &load));
    load.n_requests = 100; /* 50 too many: five seconds */
    assert_false(judge(&bounds, &load));
    refused(429, GW_REJECTION_queue_full, 5);
    load.n_requests = 101;
    assert_false(judge(&bounds, &load));
    refused(400, GW_REJECTION_too_large, 0);
}

TEST(a_wait_longer_than_the_bound_is_refused_until_it_is_shorter)
{
    struct gw_bounds limits = bounds;
    limits.max_wait_s = 4;
    line_up(38);
    assert_true(judge(&limits, &one));
    line_up(31); /* 6.9 s */
    assert_false(judge(&limits, &one));
    refused(429, GW_REJECTION_too_late, 3);
    assert_string_equal(verdict.failure.code, "too_late");
}

/* 0.1 s for its own turn and 1 s for its tokens, and a quarter more to be sure. */
TEST(a_request_that_could_not_end_in_time_is_refused_at_once)
{
    struct gw_load load = one;
    load.left_s = 4;
    line_up(20);
    assert_true(judge(&bounds, &load)); /* (2.1 + 1) x 1.25 = 3.9 */
    line_up(10);
    assert_false(judge(&bounds, &load));
    refused(429, GW_REJECTION_too_late, 2);
    load.max_new_tokens = 1;
    assert_true(judge(&bounds, &load)); /* 3.1 x 1.25 = 3.9 */
}

TEST(with_an_empty_queue_every_request_is_taken)
{
    struct gw_load load = one;
    load.left_s = 0.01;
    assert_true(judge(&bounds, &load));
    line_up(1);
    assert_false(judge(&bounds, &load));
    refused(429, GW_REJECTION_too_late, 2);
}

/* The queue is empty. But with ten others at work its 20 tokens would take 10 s, as theirs do. */
TEST(a_request_that_could_not_end_in_time_beside_others_is_refused)
{
    struct gw_load load = one;
    for (int i = 0; i < 10; i++) {
        move(GW_TOKENIZING, GW_QUEUED);
        move(GW_QUEUED, GW_PREFILLING);
        move(GW_PREFILLING, GW_DECODING);
    }
    for (int i = 0; i < 200; i++) {
        now_ns += 50 * BATON_MS;
        gw_throughput_made(&throughput, 1, now_ns);
    }
    assert_true(judge(&bounds, &load));
    load.left_s = 15;
    assert_true(judge(&bounds, &load)); /* (11 x 0.05 s x 19 + 0.1) x 1.25 = 13 */
    load.left_s = 10;
    assert_false(judge(&bounds, &load));
    refused(429, GW_REJECTION_too_late, 4);
    load.left_s = 1; /* too short for it even alone: its own affair */
    assert_true(judge(&bounds, &load));
}

TEST(batch_may_fill_half_of_the_queue)
{
    struct gw_load load = one;
    load.priority = BATON_PRIORITY_BATCH;
    line_up(49);
    assert_true(judge(&bounds, &load));
    line_up(1);
    assert_false(judge(&bounds, &load));
    refused(429, GW_REJECTION_queue_full, 1);
    assert_true(judge(&bounds, &one));
    load.n_requests = 51;
    assert_false(judge(&bounds, &load));
    refused(400, GW_REJECTION_too_large, 0);
}

TEST(requests_of_batch_that_wait_make_no_other_too_late)
{
    struct gw_load load = one;
    load.left_s = 4;
    line_up(40);
    assert_false(judge(&bounds, &load));
    load.n_behind = 30;
    assert_true(judge(&bounds, &load));
}

TEST(a_key_has_its_own_limit)
{
    assert_true(gw_admission_judge_key(&throughput, 0, 1000, 1000, &verdict));
    assert_true(gw_admission_judge_key(&throughput, 4, 3, 1, &verdict));
    assert_false(gw_admission_judge_key(&throughput, 4, 3, 2, &verdict));
    refused(429, GW_REJECTION_per_key, 1);
    assert_string_equal(verdict.failure.code, "too_many_requests");
    assert_non_null(strstr(verdict.text, "may have 4"));
    assert_false(gw_admission_judge_key(&throughput, 4, 0, 5, &verdict));
    refused(400, GW_REJECTION_too_large, 0);
}

/* Ten seconds in line and one of output: one of its four ends in about a quarter of that. */
TEST(a_key_may_try_again_when_one_of_its_generations_has_ended)
{
    line_up(100);
    assert_false(gw_admission_judge_key(&throughput, 4, 4, 1, &verdict));
    refused(429, GW_REJECTION_per_key, 3);
}

EACH_TEST(init, NULL)
