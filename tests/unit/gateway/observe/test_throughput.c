#include "tests/support/test.h"

#include <math.h>

#include "common/base/clock.h"
#include "gateway/observe/throughput.h"

static struct gw_throughput throughput;
static struct gw_standstill still;
static int64_t now_ns;

SETUP(init)
{
    throughput = (struct gw_throughput){0};
    still = (struct gw_standstill){false, false, false};
    now_ns = 1000 * BATON_SECOND;
}

static void sleep_s(double seconds)
{
    now_ns += (int64_t)(seconds * 1e9);
}

static void move(enum gw_state from, enum gw_state to, size_t n_tokens)
{
    gw_throughput_moved(&throughput, from, to, n_tokens, now_ns);
}

static void arrive(size_t n_tokens)
{
    move(GW_TOKENIZING, GW_QUEUED, n_tokens);
}

static void tick(double waited_s)
{
    gw_throughput_tick(&throughput, waited_s, &still, now_ns);
}

/* The first in the queue gets its slot, and its first token after prefill_s. */
static void serve(size_t n_tokens, double prefill_s)
{
    move(GW_QUEUED, GW_RESERVING, n_tokens);
    move(GW_RESERVING, GW_PREFILLING, n_tokens);
    sleep_s(prefill_s);
    move(GW_PREFILLING, GW_DECODING, n_tokens);
}

/* n_queued wait, and n of them get a slot, one every every_s. */
static void backlog(int n_queued, int n, double every_s)
{
    for (int i = 0; i < n_queued; i++)
        arrive(20);
    tick(1);
    for (int i = 0; i < n; i++) {
        sleep_s(every_s - 0.01);
        serve(20, 0.01);
        tick(1);
    }
}

static void near(double value, double expected, double part)
{
    if (!(fabs(value - expected) <= part * fabs(expected)))
        fail_msg("%g is not within %g %% of %g", value, part * 100, expected);
}

TEST(nothing_is_known_before_anything_was_served)
{
    for (int i = 0; i < 1000; i++)
        arrive(100);
    assert_true(gw_throughput_wait_s(&throughput, 0, 1 << 20) == 0);
    assert_true(gw_throughput_service_s(&throughput, 1, 1 << 20, 100) == 0);
}

TEST(a_fleet_that_frees_ten_slots_a_second_needs_a_second_for_ten)
{
    backlog(200, 100, 0.1);
    assert_int_equal(throughput.n_waiting, 100);
    assert_int_equal(throughput.n_waiting_tokens, 2000);
    near(gw_throughput_wait_s(&throughput, 0, 0), 10, 0.05);
    near(gw_throughput_wait_s(&throughput, 100, 0), 20, 0.05);
    near(gw_throughput_routing_s(&throughput, 10), 1, 0.05);
}

TEST(prompts_with_workers_are_waited_for_at_the_pace_of_compute)
{
    for (int i = 0; i < 10; i++) {
        arrive(100);
        serve(100, 0.05); /* 2000 tokens a second */
        sleep_s(3600);    /* a quiet hour is no slow fleet */
    }
    assert_true(gw_throughput_wait_s(&throughput, 0, 0) == 0);
    for (int i = 0; i < 5; i++) {
        arrive(200);
        move(GW_QUEUED, GW_PREFILLING, 200);
    }
    near(gw_throughput_wait_s(&throughput, 0, 0), 0.5, 0.01);
    near(gw_throughput_wait_s(&throughput, 0, 1000), 1, 0.01);
}

/* Two slots a second come free, yet a prompt is run in 10 ms. */
TEST(a_wait_for_a_slot_does_not_look_like_slow_compute)
{
    backlog(100, 50, 0.5);
    near(gw_throughput_routing_s(&throughput, 1), 0.5, 0.05);
    near(gw_throughput_service_s(&throughput, 1, 2000, 1), 1, 0.05);
}

/* No request had to wait, however many came: that tells nothing of how quickly slots come free. */
TEST(a_fleet_with_slots_for_all_is_not_a_quick_one)
{
    for (int i = 0; i < 1000; i++) {
        arrive(20);
        serve(20, 0.002);
        tick(0);
    }
    backlog(10, 4, 0.5);
    near(gw_throughput_wait_s(&throughput, 0, 0), 3, 0.05);
}

TEST(before_the_first_slot_is_given_the_wait_is_as_long_as_it_lasts)
{
    backlog(4, 0, 1);
    sleep_s(0.5);
    tick(1);
    near(gw_throughput_wait_s(&throughput, 0, 0), 2, 0.01);
}

TEST(a_change_of_pace_is_noticed_within_seconds)
{
    backlog(1000, 100, 0.02);
    near(gw_throughput_routing_s(&throughput, 100), 2, 0.05);
    backlog(0, 10, 0.5);
    near(gw_throughput_routing_s(&throughput, 100), 50, 0.15);
    backlog(0, 200, 0.02);
    near(gw_throughput_routing_s(&throughput, 100), 2, 0.15);
}

TEST(a_standstill_is_noticed_and_ends_in_numbers)
{
    backlog(100, 50, 0.1);
    sleep_s(30);
    tick(1);
    assert_true(gw_throughput_wait_s(&throughput, 0, 0) > 100);
    sleep_s(86400);
    tick(1);
    assert_true(isfinite(gw_throughput_wait_s(&throughput, 0, 0)));
}

TEST(with_the_backlog_ends_the_wait)
{
    backlog(20, 19, 0.5);
    assert_true(gw_throughput_wait_s(&throughput, 0, 0) > 0.4);
    move(GW_QUEUED, GW_CANCELING, 20);
    assert_int_equal(throughput.n_waiting, 0);
    assert_int_equal(throughput.n_waiting_tokens, 0);
    arrive(20);
    assert_true(gw_throughput_wait_s(&throughput, 0, 0) == 0); /* it may find a slot at once */
}

TEST(a_request_that_leaves_without_a_slot_was_not_served)
{
    backlog(1000, 20, 0.1);
    for (int i = 0; i < 500; i++)
        move(GW_QUEUED, GW_FAILED, 20);
    backlog(0, 20, 0.1);
    near(gw_throughput_routing_s(&throughput, 10), 1, 0.05);
}

TEST(a_broken_attempt_waits_again)
{
    arrive(10);
    move(GW_QUEUED, GW_RESERVING, 10);
    move(GW_RESERVING, GW_QUEUED, 10);
    assert_int_equal(throughput.n_waiting, 1);
    move(GW_QUEUED, GW_PREFILLING, 10);
    assert_int_equal(throughput.n_waiting, 0);
    move(GW_PREFILLING, GW_QUEUED, 10);
    assert_int_equal(throughput.n_waiting, 1);
    assert_int_equal(throughput.compute.n_open, 0);
    assert_int_equal(throughput.compute.n_marks, 0);
    assert_int_equal(throughput.n_prefilling_tokens, 0);
    move(GW_QUEUED, GW_FAILED, 10);
    assert_int_equal(throughput.n_waiting_tokens, 0);
}

TEST(the_length_of_an_output_is_at_most_what_is_usual_and_what_is_asked)
{
    for (int i = 0; i < 50; i++)
        gw_throughput_finished(&throughput, 101, 2);
    near(gw_throughput_service_s(&throughput, 1, 0, 1000), 2, 0.01);
    near(gw_throughput_service_s(&throughput, 1, 0, 11), 0.2, 0.01);
    assert_true(gw_throughput_service_s(&throughput, 1, 0, 1) == 0);
    for (int i = 0; i < 100; i++)
        gw_throughput_finished(&throughput, 1, 0);
    assert_true(gw_throughput_service_s(&throughput, 1, 0, 1000) < 0.1);
}

static void begin_decoding(int n)
{
    for (int i = 0; i < n; i++) {
        arrive(1);
        move(GW_QUEUED, GW_PREFILLING, 1);
        move(GW_PREFILLING, GW_DECODING, 1);
    }
}

/* Eight share 100 tokens a second; five of them then stop reading, and three share as many. */
TEST(decoding_requests_share_what_the_fleet_makes)
{
    gw_throughput_finished(&throughput, 11, 0.1);
    begin_decoding(8);
    for (int i = 0; i < 500; i++) {
        sleep_s(0.08);
        gw_throughput_made(&throughput, 8, now_ns);
    }
    near(gw_throughput_service_s(&throughput, 1, 0, 1000), 10 * 9 * 0.01, 0.05);
    near(gw_throughput_alone_s(&throughput, 0, 1000), 10 * 0.01, 0.05);
    for (int i = 0; i < 5; i++)
        gw_throughput_paused(&throughput, true, now_ns);
    for (int i = 0; i < 500; i++) {
        sleep_s(0.03);
        gw_throughput_made(&throughput, 3, now_ns);
    }
    near(gw_throughput_service_s(&throughput, 1, 0, 1000), 10 * 4 * 0.01, 0.05);
    assert_int_equal(throughput.output.n_open, 3);
    for (int i = 0; i < 3; i++)
        gw_throughput_paused(&throughput, true, now_ns);
    sleep_s(3600); /* none is taken: no time passes */
    tick(0);
    near(gw_throughput_service_s(&throughput, 1, 0, 1000), 10 * 0.01, 0.05);
}

/* Answers of ten tokens, one every 10 ms, after a prompt of 20 in 10 ms. */
static void answer(int n)
{
    for (int i = 0; i < n; i++) {
        arrive(20);
        serve(20, 0.01);
        for (int token = 1; token < 10; token++) {
            sleep_s(0.01);
            gw_throughput_made(&throughput, 1, now_ns);
        }
        move(GW_DECODING, GW_DONE, 20);
        gw_throughput_finished(&throughput, 10, 0.09);
        tick(0);
    }
}

static void expect_the_usual_pace(void)
{
    near(gw_throughput_service_s(&throughput, 1, 20, 10), 0.1, 0.05);
    assert_true(gw_throughput_wait_s(&throughput, 0, 0) == 0);
}

TEST(requests_that_failed_after_a_stall_do_not_look_like_slowness)
{
    answer(3);
    for (int i = 0; i < 3; i++) {
        arrive(20);
        serve(20, 0.01); /* its output never comes */
        arrive(20);
        move(GW_QUEUED, GW_PREFILLING, 20); /* nor the first token of this one */
    }
    for (int i = 0; i < 400; i++) {
        sleep_s(0.025);
        tick(0);
    }
    for (int i = 0; i < 3; i++) {
        move(GW_DECODING, GW_FAILED, 20);
        move(GW_PREFILLING, GW_FAILED, 20);
    }
    expect_the_usual_pace();
    answer(1);
    expect_the_usual_pace();
}

TEST(a_stall_that_requests_survive_counts_as_a_second)
{
    answer(20);
    begin_decoding(1);
    sleep_s(60);
    tick(0);
    assert_true(gw_throughput_service_s(&throughput, 1, 20, 10) > 10); /* while it lasts */
    gw_throughput_made(&throughput, 1, now_ns);
    move(GW_DECODING, GW_DONE, 1);
    assert_true(gw_throughput_service_s(&throughput, 1, 20, 10) < 0.2);
}

/* Ticks as the gateway does. */
static void pass(double seconds, double waited_s)
{
    for (int i = 0; i < (int)(seconds / 0.025); i++) {
        sleep_s(0.025);
        tick(waited_s);
    }
}

TEST(time_in_which_nobody_could_go_on_is_not_slowness)
{
    answer(3);
    begin_decoding(2);
    pass(0.1, 0);
    still.output = true; /* the only decode worker is silent */
    pass(2, 0);
    assert_true(gw_throughput_service_s(&throughput, 1, 20, 10) < 0.3);
    still.output = false;
    gw_throughput_made(&throughput, 2, now_ns);
    move(GW_DECODING, GW_DONE, 1);
    move(GW_DECODING, GW_DONE, 1);
    expect_the_usual_pace();
    answer(1);
    expect_the_usual_pace();
}

TEST(prompts_whose_worker_is_silent_take_no_time)
{
    answer(3);
    arrive(20);
    move(GW_QUEUED, GW_PREFILLING, 20);
    still.compute = true;
    pass(2, 0);
    near(gw_throughput_wait_s(&throughput, 0, 0), 0.01, 0.05);
    still.compute = false;
    sleep_s(0.01);
    move(GW_PREFILLING, GW_DECODING, 20);
    move(GW_DECODING, GW_DONE, 20);
    expect_the_usual_pace();
}

TEST(a_queue_before_a_silent_worker_is_no_backlog)
{
    still.routing = true;
    for (int i = 0; i < 12; i++)
        arrive(20);
    pass(2, 1);
    assert_true(gw_throughput_wait_s(&throughput, 0, 0) < 0.01);
    still.routing = false;
    tick(2);
    for (int i = 0; i < 4; i++)
        serve(20, 0.01);
    assert_true(gw_throughput_wait_s(&throughput, 0, 0) < 0.2);
}

TEST(a_gateway_that_slept_does_not_take_its_sleep_for_slowness)
{
    answer(20);
    begin_decoding(1);
    sleep_s(60);
    gw_throughput_slept(&throughput, now_ns);
    gw_throughput_made(&throughput, 1, now_ns);
    tick(0);
    move(GW_DECODING, GW_DONE, 1);
    expect_the_usual_pace();
}

TEST(retry_after_is_whole_seconds_that_can_be_foreseen)
{
    assert_int_equal(gw_throughput_retry_s(0), 1);
    assert_int_equal(gw_throughput_retry_s(NAN), 1);
    assert_int_equal(gw_throughput_retry_s(1), 1);
    assert_int_equal(gw_throughput_retry_s(1.01), 2);
    assert_int_equal(gw_throughput_retry_s(59.5), 60);
    assert_int_equal(gw_throughput_retry_s(INFINITY), 60);
}

EACH_TEST(init, NULL)
