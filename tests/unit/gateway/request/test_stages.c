/* The stages of a request's time. */
#include <math.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/request/stages.h"
#include "tests/support/test.h"

static struct gw_requests requests;
static struct gw_request *request;
static struct gw_stages stages;

/* Arrived at 0 ms of its own time, 1 ms each of parsing, tokenizing and waiting, sent at 3 ms. */
SETUP(init)
{
    gw_requests_init(&requests);
    request = gw_request_create(&requests, NULL, NULL, 5 * BATON_SECOND);
    request->params.kv_cache = true;
    struct gw_times *times = &request->times;
    times->parsed_ns = times->arrived_ns + BATON_MS;
    times->tokenized_ns = times->parsed_ns + BATON_MS;
    request->attempt.prefill_sent_ns = times->tokenized_ns + BATON_MS;
    (void)strcpy(request->attempt.prefill_id, "prefill-0");
    (void)strcpy(request->attempt.decode_id, "decode-0");
}

TEARDOWN(fini)
{
    gw_request_destroy(&requests, request);
}

static int64_t at_ms(double ms)
{
    return request->times.arrived_ns + (int64_t)(ms * (double)BATON_MS);
}

/* The first token at 10 ms, decoding from 14 ms on. */
static void decode(void)
{
    Baton__V1__DecodeBegan began = BATON__V1__DECODE_BEGAN__INIT;
    began.decode_queue_s = 0.001;
    began.kv_bytes = 1 << 20;
    request->attempt.prefill_queue_s = 0.001;
    request->attempt.prefill_compute_s = 0.005;
    request->attempt.first_token_ns = request->output.first_ns = at_ms(10);
    gw_attempt_decode_begins(&request->attempt, &began, at_ms(14));
}

static void end_at(double ms)
{
    request->times.end_ns = at_ms(ms);
    stages = gw_request_stages(request);
    double end_s = 0, first_s = 0, sum_s = -stages.overlap_s;
    for (int i = 0; i < BATON_N_STAGES; i++) {
        if (i == BATON_STAGE_kv_transfer || i == BATON_STAGE_detokenize) /* a line begins */
            end_s = first_s;
        assert_true(fabs(stages.spans[i].start_s - end_s) < 1e-9);
        assert_true(stages.spans[i].duration_s >= 0);
        end_s += stages.spans[i].duration_s;
        sum_s += stages.spans[i].duration_s;
        first_s = i == BATON_STAGE_first_token ? end_s : first_s;
    }
    assert_true(fabs(sum_s - gw_request_e2el_s(request)) < 1e-9);
}

/* The gateway handled tokens from one moment to another; worked: when their worker began them. */
static void handle_ms(double from, double to, double worked)
{
    gw_output_handle(&request->output, at_ms(from), at_ms(worked));
    gw_output_handled(&request->output, at_ms(to));
}

#define assert_stage_ms(stage, who, ms)                                                            \
    do {                                                                                           \
        assert_string_equal(stages.spans[BATON_STAGE_##stage].worker, who);                        \
        assert_true(fabs(stages.spans[BATON_STAGE_##stage].duration_s - (ms)*1e-3) < 1e-8);        \
    } while (0)

static void assert_overlap_ms(double ms)
{
    assert_true(fabs(stages.overlap_s - ms * 1e-3) < 1e-8);
}

TEST(the_stages_of_an_answer_add_up_to_its_time)
{
    decode();
    request->attempt.decode_times.decode_s = 0.020;
    request->attempt.decode_times.sample_s = 0.002;
    handle_ms(39, 41, 38);
    request->output.detokenize_ns = BATON_MS / 2;
    request->output.flush_ns = BATON_MS / 2;
    end_at(40);
    assert_stage_ms(parse, "gateway", 1);
    assert_stage_ms(queue, "gateway", 1);
    assert_stage_ms(prefill_queue, "prefill-0", 1);
    assert_stage_ms(prefill_compute, "prefill-0", 5);
    assert_stage_ms(first_token, "prefill-0", 1);
    assert_stage_ms(kv_transfer, "decode-0", 3);
    assert_stage_ms(decode_queue, "decode-0", 1);
    assert_stage_ms(decode, "decode-0", 20);
    assert_stage_ms(sample, "decode-0", 2);
    assert_stage_ms(decode_wait, "decode-0", 2);
    assert_stage_ms(detokenize, "gateway", 0.5);
    assert_stage_ms(format, "gateway", 1);
    assert_stage_ms(flush, "gateway", 0.5);
    assert_null(stages.spans[BATON_STAGE_migration].worker);
}

TEST(what_a_worker_computed_beside_the_gateways_work_is_not_counted_twice)
{
    decode();
    request->attempt.decode_times.decode_s = 0.024;
    handle_ms(10, 12, 0);  /* the first token; its context travels until 14 ms */
    handle_ms(25, 29, 10); /* the worker computes the next token from 25 ms on */
    handle_ms(40, 41, 26);
    end_at(41);
    assert_stage_ms(format, "gateway", 7);
    assert_stage_ms(kv_transfer, "decode-0", 3);
    assert_stage_ms(decode, "decode-0", 24);
    assert_overlap_ms(2 + 3);
    assert_stage_ms(decode_wait, "decode-0", 31 - (3 + 1 + 24) - (7 - 5));
}

TEST(times_that_contradict_each_other_stay_as_measured_and_count_as_overlap)
{
    decode();
    request->attempt.prefill_compute_s = 0.009;     /* of 7 ms, 1 of them in the queue */
    request->attempt.decode_times.decode_s = 0.030; /* of 30 ms, 4 of them the hand-off's */
    end_at(40);
    assert_stage_ms(prefill_compute, "prefill-0", 9);
    assert_stage_ms(first_token, "prefill-0", 0);
    assert_stage_ms(decode, "decode-0", 30);
    assert_stage_ms(decode_wait, "decode-0", 0);
    assert_overlap_ms(3 + 4);
}

TEST(a_gateway_without_a_core_says_so)
{
    decode();
    handle_ms(20, 60 * 1000, 19); /* a minute that this thread does not compute */
    end_at(61 * 1000);
    assert_true(stages.preempted_s > 30 && stages.preempted_s <= 60);
}

TEST(a_context_that_did_not_travel_has_no_transfer)
{
    Baton__V1__DecodeBegan began = BATON__V1__DECODE_BEGAN__INIT;
    began.decode_queue_s = 0.001;
    request->attempt.first_token_ns = request->output.first_ns = at_ms(10);
    gw_attempt_decode_begins(&request->attempt, &began, at_ms(14));
    end_at(20);
    assert_stage_ms(kv_transfer, "decode-0", 0);
    assert_stage_ms(decode_queue, "decode-0", 4);
}

TEST(a_migration_is_a_stage_and_both_attempts_count)
{
    decode();
    request->attempt.decode_times.decode_s = 0.010;
    request->output.last_token_ns = at_ms(25);
    assert_ok(gw_request_migrate(request, "its worker died"));
    (void)strcpy(request->attempt.decode_id, "decode-1");
    request->migration.gap_s = 0.015;
    request->attempt.first_token_ns = at_ms(40);
    request->attempt.decode_times.decode_s = 0.008;
    end_at(50);
    assert_stage_ms(kv_transfer, "decode-1", 3);
    assert_stage_ms(decode, "decode-1", 18);
    assert_stage_ms(migration, "gateway", 15);
    assert_stage_ms(decode_wait, "decode-1", 3);
}

TEST(a_migration_that_finds_no_worker_lasts_to_the_end)
{
    decode();
    assert_ok(gw_request_migrate(request, "its worker died"));
    request->migration.gap_s = 0.015;
    end_at(40);
    assert_stage_ms(migration, "gateway", 15);
    assert_stage_ms(kv_transfer, "decode-0", 3);
}

TEST(a_request_that_ends_early_has_the_stages_it_came_to)
{
    end_at(8);
    assert_stage_ms(prefill_queue, "prefill-0", 5);
    assert_null(stages.spans[BATON_STAGE_prefill_compute].worker);
    assert_null(stages.spans[BATON_STAGE_decode].worker);
    request->attempt.prefill_sent_ns = 0;
    end_at(8);
    assert_stage_ms(queue, "gateway", 6);
    assert_null(stages.spans[BATON_STAGE_prefill_queue].worker);
}

TEST(one_token_is_all_the_gateways_after_it_came)
{
    request->attempt.decode_id[0] = 0;
    request->output.first_ns = at_ms(10);
    handle_ms(10, 11, 0);
    end_at(11);
    assert_stage_ms(format, "gateway", 1);
    assert_null(stages.spans[BATON_STAGE_decode_wait].worker);
}

EACH_TEST(init, fini)
