/* Requests whose decode worker drains, and their way to another one with their context. */
#include "tests/unit/gateway/fixture.h"

#include <math.h>

static struct gw_choice client;
static const struct wanted streamed = {.n_prompt = 32, .n_new = 6, .streaming = true};

#define CANCEL    BATON__V1__ENVELOPE__BODY_CANCEL
#define RESERVE   BATON__V1__ENVELOPE__BODY_RESERVE
#define START     BATON__V1__ENVELOPE__BODY_DECODE_START
#define HAND_OVER BATON__V1__ENVELOPE__BODY_HAND_OVER

SETUP(open_gateway)
{
    migration_limit = 1;
    open_with_spare();
}

/* Two tokens are made at decode-0, which then drains. */
static void decode_and_drain(void)
{
    ask(&client, &streamed);
    say_reserved(&decode, &client);
    say_first(&prefill, &client);
    say_tokens(&decode, &client, 1, 1);
    join(&decode_1);
    decode.status.draining = true;
    say_goodbye(&decode);
    pass_ms(25);
}

static void reserve_at_next(void)
{
    decode_and_drain();
    say_reserved(&decode_1, &client);
}

static void expect_at_first(void)
{
    assert_int_equal(client.request->state, GW_DECODING);
    assert_int_equal(client.request->attempt.number, 1);
    assert_int_equal(client.n_failed, 0);
    say_tokens(&decode, &client, 2, 4);
    say_finished(&decode, &client, 6);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(client.n_tokens, 6);
    assert_int_equal(metrics.n_migrations, 0);
}

TEST(a_stream_moves_with_its_context_while_it_runs)
{
    decode_and_drain();
    const struct sent *reserve = last_sent(&decode_1, &client, RESERVE);
    assert_non_null(reserve);
    assert_true(reserve->is_hand_over);
    assert_int_equal(reserve->attempt, 2);
    assert_int_equal(reserve->n_tokens, 32);
    assert_int_equal(reserve->n_more, 6);
    say_reserved(&decode_1, &client);
    assert_int_equal(last_sent(&decode, &client, HAND_OVER)->to_attempt, 2);
    assert_int_equal(last_sent(&decode, &client, HAND_OVER)->attempt, 1);
    say_tokens(&decode, &client, 2, 1);
    assert_int_equal(client.n_tokens, 3);
    pass_ms(100);
    say_handed_over(&decode, &client, 3);
    assert_int_equal(client.request->state, GW_DECODING);
    const struct sent *start = last_sent(&decode_1, &client, START);
    assert_non_null(start);
    assert_int_equal(start->attempt, 2);
    assert_int_equal(start->n_tokens, 34); /* all but the last token, which is the next input */
    assert_int_equal(start->n_output, 2);
    assert_int_equal(start->n_more, 4);
    assert_int_equal(known(&decode)->n_active, 0);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 0);
    assert_int_equal(n_sent(&prefill, &client, BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST), 1);
    say_tokens(&decode_1, &client, 3, 3);
    say_finished(&decode_1, &client, 6);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(client.n_tokens, 6);
    assert_int_equal(metrics.n_migrations, 1);
    assert_int_equal(metrics.n_hand_overs, 1);
    assert_int_equal(metrics.migration_gap.n, 1);
    assert_true(fabs(metrics.migration_gap.sum_s - 0.1) < 1e-9);
    assert_int_equal(known(&decode_1)->n_active, 0);
}

TEST(a_moved_stream_may_still_migrate_as_often_as_before)
{
    reserve_at_next();
    say_handed_over(&decode, &client, 2);
    say_failed(&decode_1, &client, BATON__V1__FAILED__CODE__INTERNAL);
    assert_int_equal(client.n_failed, 0);
    assert_int_equal(last_sent(&decode_1, &client, RESERVE)->n_tokens, 34);
    assert_false(last_sent(&decode_1, &client, RESERVE)->is_hand_over);
    say_reserved(&decode_1, &client);
    say_first(&prefill, &client);
    say_failed(&decode_1, &client, BATON__V1__FAILED__CODE__INTERNAL);
    assert_int_equal(client.n_failed, 1); /* the limit is 1 */
    assert_int_equal(metrics.n_migrations, 2);
    assert_int_equal(metrics.n_hand_overs, 1);
}

TEST(what_a_worker_that_left_had_not_moved_does_not_count_as_a_failure)
{
    decode_and_drain();
    say_rejected(&decode_1, &client);
    cut_link(&decode); /* its time is up */
    pass_ms(25);
    say_reserved(&decode_1, &client);
    say_first(&prefill, &client);
    say_failed(&decode_1, &client, BATON__V1__FAILED__CODE__INTERNAL);
    assert_int_equal(client.n_failed, 0); /* the limit is 1 */
    pass_ms(25);
    say_reserved(&decode_1, &client);
    say_first(&prefill, &client);
    say_failed(&decode_1, &client, BATON__V1__FAILED__CODE__INTERNAL);
    assert_int_equal(client.n_failed, 1);
}

TEST(without_room_elsewhere_a_stream_stays)
{
    decode_and_drain();
    say_rejected(&decode_1, &client);
    assert_int_equal(known(&decode_1)->n_active, 0);
    pass_ms(25); /* it is asked again */
    assert_int_equal(n_sent(&decode_1, &client, RESERVE), 2);
    say_rejected(&decode_1, &client);
    expect_at_first();
    assert_int_equal(n_sent(&decode, &client, HAND_OVER), 0);
}

TEST(a_hand_over_that_breaks_leaves_the_stream_and_is_tried_few_times)
{
    decode_and_drain();
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(n_sent(&decode_1, &client, RESERVE), i);
        say_reserved(&decode_1, &client);
        say_failed(&decode_1, &client, BATON__V1__FAILED__CODE__CONTEXT_LOST);
        assert_int_equal(n_sent(&decode, &client, CANCEL), i);
        assert_int_equal(known(&decode_1)->n_active, 0);
        pass_ms(25);
    }
    assert_int_equal(n_sent(&decode_1, &client, RESERVE), 3);
    expect_at_first();
}

TEST(a_receiver_that_is_lost_leaves_the_stream)
{
    reserve_at_next();
    cut_link(&decode_1);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 1);
    assert_int_equal(last_sent(&decode, &client, CANCEL)->attempt, 2);
    expect_at_first();
}

TEST(a_receiver_that_falls_silent_is_not_waited_for)
{
    reserve_at_next();
    decode_1.is_silent = true;
    pass_ms(4 * BEAT_MS);
    assert_int_equal(known(&decode_1)->state, GW_WORKER_SUSPECT);
    assert_int_equal(last_sent(&decode, &client, CANCEL)->attempt, 2);
    expect_at_first();
}

TEST(a_stream_handed_to_a_receiver_that_was_lost_is_computed_again)
{
    reserve_at_next();
    cut_link(&decode_1);
    struct far_worker decode_2 = decode_worker("decode-2");
    join(&decode_2);
    say_handed_over(&decode, &client, 2); /* it crossed the Cancel */
    assert_int_equal(client.n_failed, 0);
    assert_int_equal(last_sent(&decode_2, &client, RESERVE)->n_tokens, 34);
    assert_false(last_sent(&decode_2, &client, RESERVE)->is_hand_over);
    assert_int_equal(metrics.n_migrations, 1);
    assert_int_equal(metrics.n_hand_overs, 0);
}

TEST(a_sender_that_is_lost_midway_is_a_migration)
{
    reserve_at_next();
    cut_link(&decode);
    assert_int_equal(last_sent(&decode_1, &client, CANCEL)->attempt, 2);
    assert_int_equal(last_sent(&decode_1, &client, RESERVE)->attempt, 3);
    assert_false(last_sent(&decode_1, &client, RESERVE)->is_hand_over);
    assert_int_equal(known(&decode_1)->n_active, 1);
    assert_int_equal(metrics.n_migrations, 1);
}

TEST(tokens_that_were_lost_before_a_hand_over_are_made_again)
{
    reserve_at_next();
    say_handed_over(&decode, &client, 3); /* the gateway has two */
    assert_int_equal(n_sent(&decode_1, &client, START), 0);
    assert_int_equal(last_sent(&decode_1, &client, RESERVE)->n_tokens, 34);
    assert_int_equal(metrics.n_hand_overs, 0);
}

TEST(a_stream_that_ends_midway_ends_at_both)
{
    reserve_at_next();
    say_tokens(&decode, &client, 2, 4);
    say_finished(&decode, &client, 6);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(last_sent(&decode_1, &client, CANCEL)->attempt, 2);
    assert_int_equal(known(&decode_1)->n_active, 0);
    assert_int_equal(known(&decode)->n_active, 0);
}

TEST(a_client_that_leaves_midway_frees_both)
{
    reserve_at_next();
    leave(&client);
    assert_int_equal(last_sent(&decode_1, &client, CANCEL)->attempt, 2);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 2); /* the request, and the move */
    assert_int_equal(known(&decode_1)->n_active, 0);
    assert_int_equal(known(&decode)->n_active, 0);
}

TEST(a_paused_stream_stays_paused_where_it_goes)
{
    decode_and_drain();
    gw_lifecycle_pause(&dispatcher.lifecycle, client.request, true);
    say_reserved(&decode_1, &client);
    say_handed_over(&decode, &client, 2);
    assert_int_equal(last_sent(&decode_1, &client, START)->credit_tokens, 0);
    gw_lifecycle_pause(&dispatcher.lifecycle, client.request, false);
    assert_true(last_sent(&decode_1, &client, BATON__V1__ENVELOPE__BODY_TOKEN_ACK)->credit_tokens);
    say_tokens(&decode_1, &client, 2, 1);
    assert_int_equal(client.n_tokens, 3);
}

TEST(workers_of_an_earlier_version_hand_nothing_over_and_get_nothing)
{
    decode_1.is_old = true;
    decode_and_drain();
    assert_int_equal(n_sent(&decode_1, &client, RESERVE), 0);
    expect_at_first();
}

TEST(without_migration_nothing_moves)
{
    gateway_close();
    migration_limit = 0;
    open_with_spare();
    decode_and_drain();
    assert_int_equal(n_sent(&decode_1, &client, RESERVE), 0);
    expect_at_first();
}

EACH_TEST(open_gateway, close_gateway)
