/* Requests whose worker is lost after their first token. */
#include "tests/unit/gateway/fixture.h"

#include <math.h>
#include <string.h>

static struct gw_choice client;
static const struct wanted streamed = {.n_prompt = 32, .n_new = 4, .streaming = true};

#define CANCEL  BATON__V1__ENVELOPE__BODY_CANCEL
#define RESERVE BATON__V1__ENVELOPE__BODY_RESERVE
#define PROMPT  BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST
#define START   BATON__V1__ENVELOPE__BODY_DECODE_START

enum { LIMIT = 2 };

SETUP(open_gateway)
{
    migration_limit = LIMIT;
    open_with_spare();
}

static void run_prompt(struct far_worker *at)
{
    say_reserved(at, &client);
    pass_ms(100);
    say_first(&prefill, &client);
}

/* A stream at decode, up to so many tokens. */
static void run_to(uint64_t n)
{
    ask(&client, &streamed);
    run_prompt(&decode);
    if (n > 1)
        say_tokens(&decode, &client, 1, n - 1);
}

static void expect_resumed(const struct sent *sent, uint32_t n_output)
{
    assert_non_null(sent);
    assert_int_equal(sent->n_tokens, streamed.n_prompt + n_output);
    assert_int_equal(sent->n_more, streamed.n_new - n_output);
}

TEST(a_stream_goes_on_elsewhere_after_its_last_token)
{
    run_to(2);
    join(&decode_1);
    cut_link(&decode);
    assert_int_equal(client.request->attempt.number, 2);
    run_prompt(&decode_1);
    expect_resumed(last_sent(&decode_1, &client, RESERVE), 2);
    expect_resumed(last_sent(&prefill, &client, PROMPT), 2);
    expect_resumed(last_sent(&decode_1, &client, START), 2);
    assert_int_equal(last_sent(&prefill, &client, PROMPT)->n_output, 2);
    assert_int_equal(last_sent(&decode_1, &client, START)->n_output, 2);
    say_tokens(&decode_1, &client, 3, 1);
    say_finished(&decode_1, &client, 4);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(client.n_first, 1);
    assert_int_equal(client.n_restarts, 0);
    assert_int_equal(client.n_tokens, 4);
    assert_int_equal(metrics.n_migrations, 1);
    assert_int_equal(metrics.n_retries, 0);
    assert_int_equal(metrics.ttft.n, 1);
    assert_int_equal(metrics.migration_gap.n, 1);
    assert_true(fabs(metrics.migration_gap.sum_s - 0.1) < 1e-9);
}

TEST(an_attempt_that_made_no_token_goes_on_from_the_same_one)
{
    run_to(1);
    say_failed(&decode, &client, BATON__V1__FAILED__CODE__CONTEXT_LOST);
    say_reserved(&decode, &client);
    say_failed(&prefill, &client, BATON__V1__FAILED__CODE__INTERNAL);
    run_prompt(&decode);
    expect_resumed(last_sent(&decode, &client, START), 1);
    say_tokens(&decode, &client, 2, 2);
    say_finished(&decode, &client, 4);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(metrics.n_migrations, 2);
}

TEST(a_request_fails_when_its_migrations_are_used_up)
{
    ask(&client, &streamed);
    for (int i = 0; i <= LIMIT; i++) {
        assert_int_equal(client.n_failed, 0);
        run_prompt(&decode);
        say_failed(&decode, &client, BATON__V1__FAILED__CODE__INTERNAL);
    }
    assert_int_equal(client.status, 502);
    assert_int_equal(client.n_tokens, LIMIT + 1);
    assert_int_equal(metrics.n_migrations, LIMIT);
}

TEST(only_the_word_that_it_is_over_may_be_lost)
{
    run_to(4);
    cut_link(&decode);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(client.n_tokens, 4);
    assert_int_equal(metrics.n_migrations, 0);
}

TEST(the_last_token_alone_needs_no_decode_worker)
{
    run_to(3);
    cut_link(&decode);
    pass_ms(100);
    expect_resumed(last_sent(&prefill, &client, PROMPT), 3);
    assert_false(last_sent(&prefill, &client, PROMPT)->has_target);
    say_first(&prefill, &client);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(client.n_tokens, 4);
}

TEST(without_another_worker_the_client_hears_what_broke)
{
    run_to(1);
    cut_link(&decode);
    assert_string_equal(client.code, "worker_failed");
    assert_int_equal(client.status, 502);
    assert_non_null(strstr(client.message, "decode-0"));
}

TEST(a_stream_whose_prefill_workers_are_gone_goes_on_at_a_decode_worker)
{
    run_to(2);
    join(&decode_1);
    cut_link(&prefill);
    cut_link(&decode);
    say_reserved(&decode_1, &client);
    expect_resumed(last_sent(&decode_1, &client, PROMPT), 2);
    assert_int_equal(client.n_failed, 0);
}

TEST(a_paused_stream_stays_paused_where_it_goes_on)
{
    run_to(1);
    gw_lifecycle_pause(&dispatcher.lifecycle, client.request, true);
    join(&decode_1);
    cut_link(&decode);
    run_prompt(&decode_1);
    assert_int_equal(last_sent(&decode_1, &client, START)->credit_tokens, 0);
    assert_int_equal(dispatcher.lifecycle.throughput.output.n_open, 0);
    leave(&client);
}

TEST(a_deadline_holds_in_every_attempt)
{
    ask(&client,
        &(struct wanted){.n_prompt = 32, .n_new = 4, .streaming = true, .timeout_ms = 1000});
    run_prompt(&decode);
    join(&decode_1);
    cut_link(&decode);
    say_reserved(&decode_1, &client);
    pass_ms(1000);
    assert_int_equal(client.status, 504);
    assert_int_equal(n_sent(&decode_1, &client, CANCEL), 1);
}

/* decode-0 is silent until it is suspect, and decode-1 is asked for the stream. */
static void doubt(void)
{
    run_to(2);
    join(&decode_1);
    decode.is_silent = true;
    pass_ms(4 * BEAT_MS);
    assert_int_equal(known(&decode)->state, GW_WORKER_SUSPECT);
    assert_int_equal(client.request->state, GW_RESERVING);
    expect_resumed(last_sent(&decode_1, &client, RESERVE), 2);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 0);
}

TEST(a_suspects_stream_goes_on_elsewhere_before_the_suspect_is_lost)
{
    doubt();
    run_prompt(&decode_1);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 1);
    assert_int_equal(last_sent(&decode, &client, CANCEL)->attempt, 1);
    assert_int_equal(known(&decode)->n_active, 0);
    assert_int_equal(metrics.n_migrations, 1);
    say_tokens(&decode, &client, 2, 1);
    assert_int_equal(client.n_tokens, 3); /* the late ones are nobody's */
    say_tokens(&decode_1, &client, 3, 1);
    say_finished(&decode_1, &client, 4);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(client.n_tokens, 4);
}

TEST(a_suspect_that_answers_first_keeps_its_stream)
{
    doubt();
    say_tokens(&decode, &client, 2, 1);
    assert_int_equal(client.request->state, GW_DECODING);
    assert_int_equal(client.request->attempt.number, 1);
    assert_int_equal(n_sent(&decode_1, &client, CANCEL), 1);
    assert_int_equal(known(&decode_1)->n_active, 0);
    assert_int_equal(metrics.n_migrations, 0);
    assert_int_equal(client.request->migration.n, 0);
    cut_link(&decode); /* a third attempt has a number that no other had */
    assert_int_equal(client.request->attempt.number, 3);
    pass_ms(100);
    say_first(&prefill, &client);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(client.n_tokens, 4);
}

TEST(a_prompt_that_a_suspects_answer_stops_does_not_count_as_computed)
{
    doubt();
    double done = dispatcher.lifecycle.throughput.compute.done;
    say_reserved(&decode_1, &client);
    assert_int_equal(client.request->state, GW_PREFILLING);
    say_tokens(&decode, &client, 2, 1);
    assert_int_equal(client.request->state, GW_DECODING);
    assert_true(dispatcher.lifecycle.throughput.compute.done == done);
    assert_int_equal(dispatcher.lifecycle.throughput.compute.n_open, 0);
    assert_int_equal(dispatcher.lifecycle.throughput.n_waiting, 0);
    assert_int_equal(dispatcher.lifecycle.throughput.n_prefilling_tokens, 0);
}

TEST(a_suspect_that_is_lost_leaves_the_other_attempt)
{
    doubt();
    pass_ms(4 * BEAT_MS);
    assert_null(known(&decode));
    assert_int_equal(metrics.n_migrations, 1);
    run_prompt(&decode_1);
    say_tokens(&decode_1, &client, 3, 1);
    say_finished(&decode_1, &client, 4);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(metrics.n_migrations, 1);
}

TEST(a_suspect_that_leaves_is_told_nothing_more)
{
    doubt();
    say_goodbye(&decode);
    assert_int_equal(known(&decode)->state, GW_WORKER_DRAINING);
    cut_link(&decode);
    assert_null(known(&decode));
    assert_int_equal(n_sent(&decode, &client, CANCEL), 0);
    assert_int_equal(metrics.n_migrations, 1);
    assert_int_equal(client.request->state, GW_RESERVING);
}

TEST(a_hedge_that_breaks_leaves_the_suspect)
{
    doubt();
    say_failed(&decode_1, &client, BATON__V1__FAILED__CODE__INTERNAL);
    assert_int_equal(client.request->state, GW_DECODING);
    assert_int_equal(client.request->attempt.number, 1);
    leave(&client);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 1);
    assert_int_equal(known(&decode)->n_active, 0);
}

TEST(both_attempts_end_with_their_client)
{
    doubt();
    leave(&client);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 1);
    assert_int_equal(n_sent(&decode_1, &client, CANCEL), 1);
    assert_int_equal(known(&decode)->n_active, 0);
    assert_int_equal(known(&decode_1)->n_active, 0);
}

EACH_TEST(open_gateway, close_gateway)
