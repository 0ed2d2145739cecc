#include "tests/unit/gateway/fixture.h"

#include <math.h>
#include <string.h>

static struct gw_choice client, second;
static const struct wanted whole = {.n_prompt = 32, .n_new = 4};
static const struct wanted streamed = {.n_prompt = 32, .n_new = 4, .streaming = true};

#define CANCEL BATON__V1__ENVELOPE__BODY_CANCEL
#define ACK    BATON__V1__ENVELOPE__BODY_TOKEN_ACK

SETUP(open_gateway)
{
    open_with_spare();
}

/* Up to the first token, after 100 ms. */
static void run_prompt(struct far_worker *at, struct gw_choice *asked)
{
    say_reserved(at, asked);
    pass_ms(100);
    say_first(&prefill, asked);
}

/* The client's request at decode, up to so many tokens. */
static void run_to(const struct wanted *wanted, uint64_t n)
{
    ask(&client, wanted);
    run_prompt(&decode, &client);
    if (n > 1)
        say_tokens(&decode, &client, 1, n - 1);
}

static void run_to_the_end(struct far_worker *at, struct gw_choice *asked)
{
    say_tokens(at, asked, 1, 3);
    say_finished(at, asked, 4);
}

TEST(a_request_is_served_from_its_prompt_to_its_last_token)
{
    run_to(&whole, 1);
    assert_int_equal(client.request->state, GW_DECODING);
    run_to_the_end(&decode, &client);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(client.n_tokens, 4);
    assert_int_equal(metrics.outcomes[GW_OUTCOME_ok], 1);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 0);
    assert_int_equal(known(&decode)->n_active, 0);
}

TEST(the_output_keeps_its_tokens)
{
    run_to(&whole, 3);
    const struct baton_tokens *tokens = &client.request->output.tokens;
    assert_int_equal(tokens->n, 3);
    assert_int_equal(tokens->ids[2], tokens->ids[0] + 2);
}

TEST(a_whole_answer_is_tried_again_when_its_worker_dies)
{
    run_to(&whole, 3);
    join(&decode_1);
    cut_link(&decode);
    assert_int_equal(client.n_restarts, 1);
    assert_int_equal(client.request->attempt.number, 2);
    run_prompt(&decode_1, &client);
    run_to_the_end(&decode_1, &client);
    assert_int_equal(client.n_tokens, 4);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(metrics.n_retries, 1);
}

TEST(the_decode_time_of_an_attempt_that_broke_is_not_the_next_ones)
{
    run_to(&whole, 2);
    say_tokens(&decode, &client, 2, 1);
    say_failed(&decode, &client, BATON__V1__FAILED__CODE__INTERNAL);
    run_prompt(&decode, &client);
    say_tokens(&decode, &client, 1, 1);
    assert_true(fabs(client.request->attempt.decode_times.decode_s - 0.010) < 1e-9);
}

TEST(the_time_to_the_first_token_is_observed_once_per_request)
{
    run_to(&whole, 1);
    assert_int_equal(metrics.ttft.n, 0); /* this first token may still be thrown away */
    say_failed(&decode, &client, BATON__V1__FAILED__CODE__INTERNAL);
    run_prompt(&decode, &client);
    run_to_the_end(&decode, &client);
    assert_int_equal(metrics.ttft.n, 1);
    assert_true(fabs(metrics.ttft.sum_s - 0.200) < 1e-9); /* of the attempt that answered */
}

TEST(a_streamed_first_token_is_observed_at_once)
{
    run_to(&streamed, 1);
    assert_int_equal(metrics.ttft.n, 1);
    run_to_the_end(&decode, &client);
    assert_int_equal(metrics.ttft.n, 1);
}

TEST(a_response_that_a_client_saw_is_not_begun_again)
{
    run_to(&streamed, 1);
    cut_link(&decode);
    assert_int_equal(client.n_restarts, 0);
    assert_int_equal(client.status, 502);
    assert_string_equal(client.code, "worker_failed");
}

TEST(a_stream_that_showed_nothing_is_tried_again)
{
    ask(&client, &streamed);
    say_reserved(&decode, &client);
    say_failed(&prefill, &client, BATON__V1__FAILED__CODE__INTERNAL);
    assert_int_equal(client.n_restarts, 1);
    run_prompt(&decode, &client);
    run_to_the_end(&decode, &client);
    assert_int_equal(client.n_finished, 1);
}

TEST(a_request_fails_when_its_attempts_are_used_up)
{
    ask(&client, &whole);
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        assert_int_equal(client.n_failed, 0);
        say_reserved(&decode, &client);
        say_failed(&prefill, &client, BATON__V1__FAILED__CODE__INTERNAL);
    }
    assert_int_equal(client.n_failed, 1);
    assert_int_equal(client.attempt, MAX_ATTEMPTS);
    assert_int_equal(metrics.n_retries, MAX_ATTEMPTS - 1);
}

TEST(a_request_that_no_worker_could_run_is_not_tried_again)
{
    ask(&client, &whole);
    say_reserved(&decode, &client);
    say_failed(&prefill, &client, BATON__V1__FAILED__CODE__INVALID);
    assert_int_equal(client.n_failed, 1);
    assert_int_equal(metrics.n_retries, 0);
}

TEST(answers_to_an_attempt_that_is_over_are_ignored)
{
    ask(&client, &whole);
    say_rejected(&decode, &client);
    say_reserved(&decode, &client); /* of the reservation that was rejected */
    assert_int_equal(client.request->state, GW_QUEUED);
    say_status(&decode);
    assert_int_equal(client.request->state, GW_RESERVING);
}

TEST(more_tokens_than_asked_for_break_the_attempt)
{
    run_to(&streamed, 5);
    assert_int_equal(client.n_failed, 1);
    assert_string_equal(client.message, "the worker sent more tokens than were requested");
}

TEST(lost_tokens_break_the_attempt)
{
    run_to(&streamed, 1);
    say_tokens(&decode, &client, 2, 1);
    assert_string_equal(client.message, "tokens were lost on the way");
}

TEST(a_token_that_the_model_does_not_have_breaks_the_attempt)
{
    ask(&client, &streamed);
    facts.n_vocab = 401; /* the first token is 400 */
    run_prompt(&decode, &client);
    assert_int_equal(client.request->state, GW_DECODING);
    say_tokens(&decode, &client, 1, 1);
    assert_string_equal(client.message,
                        "the worker sent a token that is not in the model's vocabulary");
    ask(&second, &whole);
    facts.n_vocab = 400;
    run_prompt(&decode, &second);
    assert_int_equal(second.n_first, 0);
    assert_int_equal(second.request->n_failures, 1);
}

TEST(an_end_that_the_tokens_do_not_have_breaks_the_attempt)
{
    run_to(&streamed, 2);
    say_finished(&decode, &client, 2); /* of the 4 that were asked for */
    assert_int_equal(client.n_finished, 0);
    assert_string_equal(client.message, "the reported end contradicts the tokens");
}

TEST(a_command_that_its_worker_would_refuse_ends_the_request_and_no_worker)
{
    ask(&client, &whole);
    prompt_err = BATON_LIMIT;
    say_reserved(&decode, &client);
    pass_ms(25);
    prompt_err = BATON_OK;
    assert_int_equal(client.status, 500);
    assert_string_equal(client.code, "internal_error");
    assert_int_equal(n_sent(&decode, NULL, CANCEL), 1);
    ask(&second, &whole);
    run_prompt(&decode, &second);
    run_to_the_end(&decode, &second);
    assert_int_equal(second.n_finished, 1);
}

TEST(a_deadline_ends_a_request_wherever_it_is)
{
    static const int progress[] = {0, 1, 2};
    for (int i = 0; i < 3; i++) {
        ask(&client, &(struct wanted){.n_prompt = 32, .n_new = 4, .timeout_ms = 1000});
        if (progress[i] > 0)
            say_reserved(&decode, &client);
        if (progress[i] > 1)
            say_first(&prefill, &client);
        pass_ms(950);
        assert_int_equal(client.n_failed, 0);
        pass_ms(100);
        assert_int_equal(client.status, 504);
        assert_int_equal(n_sent(&decode, &client, CANCEL), 1);
        assert_int_equal(known(&decode)->n_active, 0);
    }
}

TEST(a_long_queue_is_looked_at_in_parts)
{
    enum { N = 3000, A_TICK = 1024 };
    static struct gw_choice crowd[N];
    int n_ended[3];
    for (int i = 0; i < N; i++) /* nearly all wait for blocks */
        ask(&crowd[i], &(struct wanted){.n_prompt = 32, .n_new = 900, .timeout_ms = 1000});
    pass_ms(975);
    for (int turn = 0; turn < 3; turn++) {
        n_ended[turn] = 0;
        pass_ms(25);
        for (int i = 0; i < N; i++)
            n_ended[turn] += crowd[i].n_failed;
    }
    assert_in_range(n_ended[0], 1, A_TICK + KV_BLOCKS); /* and those that have blocks */
    assert_int_equal(n_ended[2], N);
}

TEST(a_client_that_leaves_ends_its_request_everywhere)
{
    ask(&client, &whole);
    say_reserved(&decode, &client);
    leave(&client);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 1);
    assert_int_equal(n_sent(&prefill, &client, CANCEL), 1);
    assert_int_equal(metrics.outcomes[GW_OUTCOME_canceled], 1);
    assert_int_equal(gw_lifecycle_n_open(&dispatcher.lifecycle), 0);
}

TEST(a_stalled_worker_loses_its_requests_and_is_told_so)
{
    join(&decode_1);
    run_to(&whole, 2);
    decode.status.stalled_s = 1.5;
    say_status(&decode);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 1);
    assert_int_equal(known(&decode)->n_active, 0);
    assert_ptr_equal(client.request->attempt.decode, known(&decode_1));
    run_prompt(&decode_1, &client);
    run_to_the_end(&decode_1, &client);
    assert_int_equal(client.n_finished, 1);
}

TEST(a_worker_whose_canary_failed_loses_its_requests_and_gets_none)
{
    join(&decode_1);
    run_to(&whole, 2);
    decode.status.n_canaries = decode.status.n_canary_failures = 1;
    say_status(&decode);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 1);
    assert_int_equal(known(&decode)->n_active, 0);
    run_prompt(&decode_1, &client);
    run_to_the_end(&decode_1, &client);
    assert_int_equal(client.n_finished, 1);
    for (int i = 0; i < 3; i++) {
        ask(&second, &whole);
        run_prompt(&decode_1, &second);
        run_to_the_end(&decode_1, &second);
        assert_int_equal(second.n_finished, 1);
    }
    assert_int_equal(known(&decode)->n_routed, 1);
}

TEST(a_suspect_keeps_its_requests)
{
    run_to(&streamed, 1);
    decode.is_silent = true;
    pass_ms(4 * BEAT_MS);
    assert_int_equal(known(&decode)->state, GW_WORKER_SUSPECT);
    assert_int_equal(client.n_failed, 0);
    run_to_the_end(&decode, &client);
    assert_int_equal(client.n_finished, 1);
}

/* How long the fleet is thought to take for a request beside those that it has. */
static double predicted_s(void)
{
    const struct gw_throughput *throughput = &dispatcher.lifecycle.throughput;
    return gw_throughput_wait_s(throughput, 1, 32) + gw_throughput_service_s(throughput, 1, 32, 4);
}

TEST(the_silence_of_the_only_decode_worker_is_not_taken_for_slowness)
{
    for (int i = 0; i < 8; i++) {
        ask(&client, &whole);
        run_prompt(&decode, &client);
        pass_ms(25);
        run_to_the_end(&decode, &client);
    }
    run_to(&streamed, 2);
    ask(&second, &whole); /* its reservation is not answered */
    double usual_s = predicted_s();
    decode.is_silent = true;
    pass_ms(4 * BEAT_MS);
    assert_int_equal(known(&decode)->state, GW_WORKER_SUSPECT);
    assert_true(predicted_s() <= 1.1 * usual_s);
    pass_ms(BEAT_MS);
    assert_true(predicted_s() <= 1.1 * usual_s);
    decode.is_silent = false;
    say_tokens(&decode, &client, 2, 2); /* before its Status */
    say_status(&decode);
    pass_ms(25);
    assert_true(predicted_s() <= 1.1 * usual_s);
}

TEST(a_draining_worker_finishes_what_it_has)
{
    run_to(&streamed, 1);
    say_goodbye(&decode);
    run_to_the_end(&decode, &client);
    assert_int_equal(client.n_finished, 1);
}

TEST(a_prefill_worker_may_die_once_decoding_began)
{
    run_to(&streamed, 2);
    cut_link(&prefill);
    assert_int_equal(client.n_failed, 0);
    say_tokens(&decode, &client, 2, 2);
    say_finished(&decode, &client, 4);
    assert_int_equal(client.n_finished, 1);
}

TEST(tokens_are_acknowledged_within_fifty_milliseconds)
{
    run_to(&streamed, 1);
    pass_ms(50);
    say_tokens(&decode, &client, 1, 2);
    pass_ms(75);
    assert_int_equal(last_sent(&decode, &client, ACK)->next_index, 3);
}

TEST(a_paused_stream_gets_no_credit_until_its_client_reads_again)
{
    run_to(&streamed, 2);
    gw_lifecycle_pause(&dispatcher.lifecycle, client.request, true);
    assert_int_equal(last_sent(&decode, &client, ACK)->credit_tokens, 0);
    gw_lifecycle_pause(&dispatcher.lifecycle, client.request, false);
    assert_true(last_sent(&decode, &client, ACK)->credit_tokens > 0);
}

TEST(of_two_requests_of_a_lost_worker_each_goes_its_own_way)
{
    run_to(&streamed, 1);
    ask(&second, &whole);
    run_prompt(&decode, &second);
    join(&decode_1);
    cut_link(&decode);
    assert_int_equal(client.n_failed, 1);
    assert_int_equal(second.n_restarts, 1);
    assert_int_equal(second.request->state, GW_RESERVING);
}

EACH_TEST(open_gateway, close_gateway)
