/* Paused requests, and others that wait for their KV blocks. */
#include "tests/unit/gateway/fixture.h"

#include <math.h>

#include "gateway/http/account.h"

#define CANCEL  BATON__V1__ENVELOPE__BODY_CANCEL
#define RESERVE BATON__V1__ENVELOPE__BODY_RESERVE
#define PROMPT  BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST
#define START   BATON__V1__ENVELOPE__BODY_DECODE_START

enum { LIMIT = 1, ROOM = 3, MOST_EACH = 64 };

static struct gw_choice client, second, third;
static const struct wanted streamed = {
    .n_prompt = 32, .n_new = 4, .streaming = true}; /* 3 blocks */

/* decode-0 has blocks for n streams. */
static void have_room_for(int n)
{
    decode.status.kv_blocks_total = decode.status.kv_blocks_free = (uint32_t)(n * ROOM);
    say_status(&decode);
    say_status(&decode);
}

SETUP(open_gateway)
{
    migration_limit = LIMIT;
    open_with_spare();
    have_room_for(1);
}

static void take_blocks(int n_streams)
{
    decode.status.kv_blocks_free -= (uint32_t)(n_streams * ROOM);
}

/* A stream with two tokens at decode-0. */
static void begin(struct gw_choice *stream)
{
    ask(stream, &streamed);
    take_blocks(1);
    say_reserved(&decode, stream);
    say_first(&prefill, stream);
    say_tokens(&decode, stream, 1, 1);
}

static void set_paused(struct gw_choice *stream, bool paused)
{
    gw_lifecycle_pause(&dispatcher.lifecycle, stream->request, paused);
}

/* The client's stream has given its blocks to the second request. */
static void preempt(void)
{
    begin(&client);
    set_paused(&client, true);
    ask(&second, &streamed);
    assert_int_equal(second.request->state, GW_QUEUED);
    pass_ms(25);
    assert_int_equal(client.request->state, GW_PREEMPTED);
}

static void finish_second(void)
{
    say_reserved(&decode, &second);
    say_first(&prefill, &second);
    say_tokens(&decode, &second, 1, 3);
    decode.status.kv_blocks_free += ROOM;
    say_finished(&decode, &second, 4);
    assert_int_equal(second.n_finished, 1);
}

/* The client reads again, and has the rest. */
static void expect_rest(void)
{
    set_paused(&client, false);
    pass_ms(25);
    assert_int_equal(last_sent(&decode, &client, RESERVE)->n_tokens, 34);
    assert_int_equal(last_sent(&decode, &client, RESERVE)->n_more, 2);
    say_reserved(&decode, &client);
    assert_int_equal(last_sent(&prefill, &client, PROMPT)->n_output, 2);
    say_first(&prefill, &client);
    assert_int_equal(last_sent(&decode, &client, START)->n_output, 2);
    assert_true(last_sent(&decode, &client, START)->credit_tokens > 0);
    say_tokens(&decode, &client, 3, 1);
    say_finished(&decode, &client, 4);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(client.n_tokens, 4);
    assert_int_equal(client.n_restarts, 0);
}

TEST(a_paused_stream_gives_its_blocks_to_a_request_that_waits_and_goes_on_later)
{
    preempt();
    assert_int_equal(last_sent(&decode, &client, CANCEL)->attempt, 1);
    assert_int_equal(second.request->state, GW_RESERVING);
    finish_second();
    pass_ms(100);
    assert_int_equal(client.request->state, GW_PREEMPTED); /* nobody reads it */
    assert_int_equal(n_sent(&decode, &client, RESERVE), 1);
    expect_rest();
    assert_int_equal(metrics.n_preemptions, 1);
    assert_int_equal(metrics.n_migrations, 1);
    assert_int_equal(metrics.n_retries, 0);
    assert_int_equal(known(&decode)->n_active, 0);
    assert_int_equal(dispatcher.lifecycle.throughput.output.n_open, 0);
    assert_int_equal(dispatcher.lifecycle.throughput.n_waiting, 0);
}

TEST(tokens_that_come_after_it_gave_way_are_made_again)
{
    preempt();
    say_tokens(&decode, &client, 2, 1);
    assert_int_equal(client.n_tokens, 2);
    finish_second();
    expect_rest();
}

TEST(the_time_in_which_nobody_read_is_no_gap_of_a_migration)
{
    preempt();
    finish_second();
    pass_ms(10000);
    set_paused(&client, false);
    pass_ms(25);
    say_reserved(&decode, &client);
    pass_ms(75);
    say_first(&prefill, &client);
    assert_true(fabs(metrics.migration_gap.sum_s - 0.1) < 1e-9);
}

TEST(a_stream_that_is_read_keeps_its_blocks)
{
    begin(&client);
    ask(&second, &streamed);
    pass_ms(1000);
    assert_int_equal(client.request->state, GW_DECODING);
    assert_int_equal(second.request->state, GW_QUEUED);
}

TEST(a_paused_stream_keeps_its_blocks_while_nobody_waits_for_them)
{
    begin(&client);
    set_paused(&client, true);
    pass_ms(1000);
    join(&decode_1);
    ask(&second, &streamed); /* has room at decode-1 */
    pass_ms(1000);
    assert_int_equal(client.request->state, GW_DECODING);
    assert_int_equal(n_sent(&decode_1, &second, RESERVE), 1);
}

TEST(the_one_that_nobody_has_read_for_longest_gives_way_and_no_more_than_needed)
{
    have_room_for(2);
    begin(&client);
    begin(&second);
    set_paused(&second, true);
    pass_ms(25);
    set_paused(&client, true);
    ask(&third, &streamed);
    pass_ms(1000);
    assert_int_equal(second.request->state, GW_PREEMPTED);
    assert_int_equal(client.request->state, GW_DECODING);
    assert_int_equal(third.request->state, GW_RESERVING);
}

TEST(several_give_way_to_one_that_needs_more)
{
    have_room_for(2);
    begin(&client);
    begin(&second);
    set_paused(&second, true);
    set_paused(&client, true);
    ask(&third, &(struct wanted){.n_prompt = 64, .n_new = 4});
    pass_ms(25);
    assert_int_equal(metrics.n_preemptions, 2);
    assert_int_equal(third.request->state, GW_RESERVING);
}

TEST(a_request_that_nobody_reads_takes_no_blocks_of_others_and_lets_them_pass)
{
    begin(&client);
    ask(&second, &streamed);
    ask(&third, &streamed);
    set_paused(&second, true);
    pass_ms(25);
    assert_int_equal(second.request->state, GW_PREEMPTED);
    assert_int_equal(metrics.n_migrations, 0);
    set_paused(&client, true);
    pass_ms(25);
    assert_int_equal(third.request->state, GW_RESERVING);
    set_paused(&second, false);
    pass_ms(25);
    assert_int_equal(second.request->state, GW_QUEUED);
    assert_int_equal(second.request->attempt.number, 1);
}

/* Streams that are read little by little would take the blocks from one another for ever. */
TEST(who_reads_again_is_served_behind_those_who_wait)
{
    preempt();
    ask(&third, &streamed);
    set_paused(&client, false);
    finish_second();
    assert_int_equal(third.request->state, GW_RESERVING);
    assert_int_equal(client.request->state, GW_QUEUED);
}

TEST(giving_way_does_not_use_up_the_migrations)
{
    preempt();
    finish_second();
    set_paused(&client, false);
    pass_ms(25);
    for (int i = 0; i <= LIMIT; i++) {
        assert_int_equal(client.n_failed, 0);
        say_reserved(&decode, &client);
        say_failed(&prefill, &client, BATON__V1__FAILED__CODE__INTERNAL);
        pass_ms(25);
    }
    assert_int_equal(client.n_failed, 1);
}

TEST(a_stream_that_gave_way_still_has_its_deadline)
{
    begin(&client);
    client.request->deadline_ns = now_ns() + 1000 * BATON_MS;
    set_paused(&client, true);
    ask(&second, &streamed);
    pass_ms(25);
    assert_int_equal(client.request->state, GW_PREEMPTED);
    pass_ms(1000);
    assert_int_equal(client.status, 504);
}

TEST(a_stream_that_gave_way_is_open_until_its_client_leaves)
{
    preempt();
    finish_second();
    assert_int_equal(gw_lifecycle_n_open(&dispatcher.lifecycle), 1);
    leave(&client);
    assert_int_equal(gw_lifecycle_n_open(&dispatcher.lifecycle), 0);
    assert_int_equal(n_sent(&decode, &client, CANCEL), 1);
}

TEST(without_migration_a_paused_stream_keeps_its_blocks)
{
    gateway_close();
    migration_limit = 0;
    open_with_spare();
    have_room_for(1);
    begin(&client);
    set_paused(&client, true);
    ask(&second, &streamed);
    pass_ms(1000);
    assert_int_equal(client.request->state, GW_DECODING);
    assert_int_equal(second.request->state, GW_QUEUED);
}

/* The first client has one stream more than it may have, another one few. */
TEST(a_client_has_so_many_streams_that_nobody_reads)
{
    struct gw_account *one = gw_account_create(GW_OF_ADDRESS, &(struct gw_limits){0});
    struct gw_account *other = gw_account_create(GW_OF_ADDRESS, &(struct gw_limits){0});
    const struct gw_payers payers = {.address = one}, others = {.address = other};
    struct gw_choice unread[MOST_EACH + 2] = {0};
    for (int i = 0; i < MOST_EACH + 2; i++) {
        have_room_for(1);
        begin(&unread[i]);
        unread[i].request->payers = i ? &payers : &others;
        set_paused(&unread[i], true);
        ask(&second, &streamed);
        pass_ms(25);
        assert_int_equal(unread[i].request->state, GW_PREEMPTED);
        leave(&second);
        assert_int_equal(unread[1].n_failed, i > MOST_EACH);
    }
    assert_int_equal(unread[1].status, 429);
    assert_string_equal(unread[1].code, "too_many_unread");
    assert_int_equal(gw_lifecycle_list(&dispatcher.lifecycle, GW_PREEMPTED)->n, MOST_EACH + 1);
    gw_account_put(one);
    gw_account_put(other);
}

EACH_TEST(open_gateway, close_gateway)
