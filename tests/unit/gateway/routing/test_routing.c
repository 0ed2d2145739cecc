#include "tests/unit/gateway/fixture.h"

#include <string.h>

static struct gw_choice client, second;
static const struct wanted usual = {.n_prompt = 32, .n_new = 4};

SETUP(open_gateway)
{
    open_with_spare();
}

/* The smaller of two statuses counts as the load by other gateways: see worker_load.h. */
static void say_status_twice(struct far_worker *worker)
{
    say_status(worker);
    say_status(worker);
}

#define RESERVE BATON__V1__ENVELOPE__BODY_RESERVE
#define PREFILL BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST

TEST(blocks_are_reserved_before_the_prompt_is_run)
{
    ask(&client, &usual);
    assert_int_equal(client.request->state, GW_RESERVING);
    assert_int_equal(n_sent(&decode, &client, RESERVE), 1);
    assert_int_equal(n_sent(&prefill, &client, PREFILL), 0);
    say_reserved(&decode, &client);
    assert_int_equal(client.request->state, GW_PREFILLING);
    assert_true(last_sent(&prefill, &client, PREFILL)->has_target);
}

TEST(one_token_needs_no_decode_worker)
{
    ask(&client, &(struct wanted){.n_prompt = 32, .n_new = 1});
    assert_int_equal(client.request->state, GW_PREFILLING);
    assert_int_equal(n_sent(&decode, &client, RESERVE), 0);
    assert_false(last_sent(&prefill, &client, PREFILL)->has_target);
}

TEST(the_least_loaded_decode_worker_is_asked)
{
    join(&decode_1);
    decode.status.n_running = 3;
    say_status_twice(&decode);
    ask(&client, &usual);
    assert_int_equal(n_sent(&decode_1, &client, RESERVE), 1);
}

TEST(a_worker_whose_link_is_down_is_not_asked_before_it_is_known_to_be_lost)
{
    join(&decode_1);
    decode_1.status.n_running = 3;
    say_status_twice(&decode_1);
    break_link(&decode);
    ask(&client, &usual);
    assert_int_equal(n_sent(&decode, &client, RESERVE), 0);
    assert_int_equal(n_sent(&decode_1, &client, RESERVE), 1);
}

TEST(equals_take_turns)
{
    join(&decode_1);
    ask(&client, &usual);
    ask(&second, &usual);
    assert_int_equal(n_sent(&decode, NULL, RESERVE), 1);
    assert_int_equal(n_sent(&decode_1, NULL, RESERVE), 1);
}

TEST(a_worker_without_blocks_is_not_asked)
{
    decode.status.kv_blocks_free = 1;
    say_status_twice(&decode);
    ask(&client, &usual);
    assert_int_equal(client.request->state, GW_QUEUED);
    decode.status.kv_blocks_free = KV_BLOCKS;
    say_status(&decode);
    assert_int_equal(client.request->state, GW_RESERVING);
}

TEST(a_worker_that_rejected_is_left_alone_until_its_next_status)
{
    ask(&client, &usual);
    say_rejected(&decode, &client);
    assert_int_equal(client.request->state, GW_QUEUED);
    assert_int_equal(n_sent(&decode, &client, RESERVE), 1);
    say_status(&decode);
    assert_int_equal(client.request->state, GW_RESERVING);
    assert_int_equal(client.request->attempt.number, 2);
}

TEST(a_worker_that_rejected_lately_is_asked_for_one_request_at_a_time)
{
    ask(&client, &usual);
    say_rejected(&decode, &client);
    ask(&second, &usual);
    say_status(&decode);
    assert_int_equal(client.request->state, GW_RESERVING);
    assert_int_equal(second.request->state, GW_QUEUED);
    say_reserved(&decode, &client);
    assert_int_equal(second.request->state, GW_RESERVING);
}

TEST(nothing_overtakes_a_request_that_does_not_fit)
{
    decode.status.kv_blocks_free = 4;
    say_status_twice(&decode);
    ask(&client, &(struct wanted){.n_prompt = 64, .n_new = 64});
    ask(&second, &usual);
    assert_int_equal(client.request->state, GW_QUEUED);
    assert_int_equal(second.request->state, GW_QUEUED);
}

TEST(a_request_that_no_worker_could_ever_hold_fails_at_once)
{
    decode.status.kv_blocks_total = decode.status.kv_blocks_free = 3;
    say_status(&decode);
    ask(&client, &(struct wanted){.n_prompt = 32, .n_new = 18}); /* 49 positions */
    assert_int_equal(client.status, 400);
    assert_string_equal(client.code, "context_length_exceeded");
    assert_non_null(strstr(client.message, "exceed context limit: 32 + 18 > 49"));
    ask(&second, &(struct wanted){.n_prompt = 32, .n_new = 17});
    assert_int_equal(second.request->state, GW_RESERVING);
    ask(&client, &(struct wanted){.n_prompt = 64, .n_new = 2});
    assert_non_null(strstr(client.message, "prompt is too long: 64 tokens > 48 maximum"));
}

TEST(an_end_lets_the_next_request_be_routed)
{
    decode.status.kv_blocks_total = decode.status.kv_blocks_free = 3;
    say_status(&decode);
    ask(&client, &usual);
    ask(&second, &usual);
    assert_int_equal(second.request->state, GW_QUEUED);
    leave(&client);
    assert_int_equal(second.request->state, GW_RESERVING);
}

TEST(without_a_prefill_worker_a_request_fails_and_a_suspect_is_waited_for)
{
    ask(&client, &(struct wanted){.n_prompt = 32, .n_new = 64});
    prefill.is_silent = true;
    pass_ms(4 * BEAT_MS);
    ask(&second, &usual);
    assert_int_equal(second.request->state, GW_QUEUED);
    cut_link(&prefill);
    assert_int_equal(second.status, 503);
    assert_string_equal(second.code, "no_worker");
}

TEST(a_path_that_is_cut_is_avoided)
{
    ask(&client, &usual);
    say_reserved(&decode, &client);
    say_failed(&prefill, &client, BATON__V1__FAILED__CODE__UNREACHABLE);
    assert_int_equal(dispatcher.routing.cut_paths.n, 1);
}

TEST(a_worker_that_is_silent_to_all_is_not_behind_a_cut_path)
{
    ask(&client, &usual);
    say_reserved(&decode, &client);
    decode.is_silent = true;
    pass_ms(4 * BEAT_MS);
    assert_int_equal(known(&decode)->state, GW_WORKER_SUSPECT);
    say_failed(&prefill, &client, BATON__V1__FAILED__CODE__UNREACHABLE);
    assert_int_equal(dispatcher.routing.cut_paths.n, 0);
}

TEST(a_draining_worker_gets_no_more_requests)
{
    say_goodbye(&decode);
    ask(&client, &usual);
    assert_int_equal(client.n_failed, 1);
    assert_string_equal(client.code, "no_worker");
    assert_int_equal(n_sent(&decode, NULL, RESERVE), 0);
}

static void open_patient(void)
{
    absence_ms = 20 * BEAT_MS;
    gateway_close();
    gateway_open(NULL);
    absence_ms = 0;
    prefill = prefill_worker("prefill-0");
    decode = decode_worker("decode-0");
    decode_1 = decode_worker("decode-1");
}

TEST(requests_wait_for_the_first_worker_of_a_role)
{
    open_patient();
    ask(&client, &usual);
    assert_int_equal(client.request->state, GW_QUEUED);
    join(&prefill);
    pass_ms(4 * BEAT_MS);
    assert_int_equal(client.request->state, GW_QUEUED);
    join(&decode);
    assert_int_equal(client.request->state, GW_RESERVING);
}

TEST(requests_wait_for_a_worker_that_has_just_left)
{
    open_patient();
    join_all(&prefill, &decode);
    pass_ms(30 * BEAT_MS);
    ask(&client, &usual);
    cut_link(&decode);
    ask(&second, &usual);
    assert_int_equal(client.request->state, GW_QUEUED); /* tried again, when there is a worker */
    assert_int_equal(second.request->state, GW_QUEUED);
    pass_ms(10 * BEAT_MS);
    join(&decode_1);
    assert_int_equal(client.request->state, GW_RESERVING);
    assert_int_equal(second.request->state, GW_RESERVING);
}

TEST(a_role_that_stays_away_is_not_waited_for_longer)
{
    open_patient();
    join_all(&prefill, &decode);
    say_goodbye(&decode);
    pass_ms(15 * BEAT_MS);
    ask(&client, &usual);
    assert_int_equal(client.request->state, GW_QUEUED);
    pass_ms(6 * BEAT_MS);
    assert_int_equal(client.status, 503);
    assert_string_equal(client.code, "no_worker");
    ask(&second, &usual);
    assert_int_equal(second.status, 503);
}

TEST(time_in_which_the_gateway_stood_still_is_no_absence)
{
    open_patient();
    join_all(&prefill, &decode);
    ask(&client, &usual);
    freeze_ms(100 * BEAT_MS);
    cut_link(&decode); /* it gave up meanwhile */
    assert_int_equal(client.request->state, GW_QUEUED);
    ask(&second, &usual);
    assert_int_equal(second.request->state, GW_QUEUED);
    join(&decode_1);
    assert_int_equal(client.request->state, GW_RESERVING);
}

TEST(a_wait_for_an_absent_role_is_no_backlog)
{
    open_patient();
    ask(&client, &usual);
    pass_ms(10 * BEAT_MS);
    assert_true(gw_throughput_wait_s(&dispatcher.lifecycle.throughput, 100, 0) == 0);
}

TEST(a_short_prompt_is_run_by_the_decode_worker_where_that_is_faster)
{
    const struct gw_routing_options colocated = {.colocated_prefill_tokens = 16};
    gateway_close();
    gateway_open(&colocated);
    join_all(&prefill, &decode);
    ask(&client, &(struct wanted){.n_prompt = 16, .n_new = 4});
    say_reserved(&decode, &client);
    ask(&second, &usual);
    say_reserved(&decode, &second);
    assert_int_equal(n_sent(&decode, &client, PREFILL), 1);
    assert_false(last_sent(&decode, &client, PREFILL)->has_target);
    assert_string_equal(client.request->attempt.prefill_id, "decode-0");
    assert_int_equal(n_sent(&prefill, &second, PREFILL), 1);
    assert_int_equal(known(&prefill)->n_active, 1);
}

TEST(an_attempts_load_on_a_worker_is_taken_away_again)
{
    ask(&client, &usual);
    say_reserved(&decode, &client);
    assert_int_equal(known(&prefill)->n_active, 1);
    assert_int_equal(known(&prefill)->load.ours.n_queued_tokens, 32);
    assert_int_equal(known(&decode)->load.ours.n_blocks, 3);
    leave(&client);
    assert_int_equal(known(&prefill)->n_active + known(&decode)->n_active, 0);
    assert_int_equal(known(&prefill)->load.ours.n_queued_tokens, 0);
    assert_int_equal(known(&decode)->load.ours.n_blocks, 0);
}

/* ---- priority ---- */

enum { N_BATCH = 4, N_INTERACTIVE = 20, N_WAITING = N_BATCH + N_INTERACTIVE };

static struct gw_choice waiting[N_WAITING]; /* batch requests first */
static const struct wanted of_batch = {
    .n_prompt = 32, .n_new = 4, .priority = BATON_PRIORITY_BATCH};

static void ask_all(const struct wanted *batch)
{
    for (int i = 0; i < N_WAITING; i++)
        ask(&waiting[i], i < N_BATCH ? batch : &usual);
}

/* The one request that is with a worker leaves; 'b' or 'i', or 0: there is none. */
static char take_turn(void)
{
    for (int i = 0; i < N_WAITING; i++)
        if (waiting[i].request && waiting[i].request->state == GW_RESERVING) {
            assert_int_equal(last_sent(&decode, &waiting[i], RESERVE)->priority, i < N_BATCH);
            leave(&waiting[i]);
            return i < N_BATCH ? 'b' : 'i';
        }
    return 0;
}

static void assert_turns(const char *expected)
{
    for (; *expected; expected++)
        assert_int_equal(take_turn(), *expected);
}

/* There is room for one request, which gives it back at once. */
TEST(interactive_requests_overtake_batch_which_has_every_eighth_turn)
{
    decode.status.kv_blocks_free = 3;
    say_status_twice(&decode);
    ask(&client, &usual);
    ask_all(&of_batch);
    leave(&client);
    assert_turns("iiiiiiibiiiiiiibiiiiiibb");
    assert_int_equal(take_turn(), 0);
}

/* The batch requests want more than there is. Sixty-four turns later everything waits for them. */
TEST(a_batch_request_that_finds_no_room_is_waited_for_in_the_end)
{
    decode.status.kv_blocks_free = 3;
    say_status_twice(&decode);
    ask(&client, &(struct wanted){.n_prompt = 64, .n_new = 4, .priority = BATON_PRIORITY_BATCH});
    for (int i = 0; i < BATON_BATCH_PATIENCE; i++) {
        ask(&second, &usual);
        assert_int_equal(second.request->state, GW_RESERVING);
        leave(&second);
    }
    ask(&second, &usual);
    assert_int_equal(second.request->state, GW_QUEUED);
    decode.status.kv_blocks_free = 8;
    say_status_twice(&decode);
    assert_int_equal(client.request->state, GW_RESERVING);
    assert_int_equal(second.request->state, GW_RESERVING);
}

/* Batch leaves 8 of 64 blocks free, except on a worker without other work. */
TEST(batch_leaves_blocks_for_interactive_requests)
{
    decode.status.kv_blocks_free = 12;
    say_status_twice(&decode);
    ask(&client, &of_batch);
    ask(&second, &of_batch);
    assert_int_equal(client.request->state, GW_RESERVING);
    assert_int_equal(second.request->state, GW_QUEUED); /* of 9, it would leave 6 */
    ask(&waiting[N_BATCH], &usual);
    assert_int_equal(waiting[N_BATCH].request->state, GW_RESERVING);
}

TEST(a_worker_that_rejected_batch_is_still_asked_for_others)
{
    ask(&client, &of_batch);
    say_rejected(&decode, &client);
    ask(&second, &usual);
    assert_int_equal(client.request->state, GW_QUEUED);
    assert_int_equal(second.request->state, GW_RESERVING);
    say_rejected(&decode, &second);
    ask(&waiting[N_BATCH], &usual);
    assert_int_equal(waiting[N_BATCH].request->state, GW_QUEUED);
}

EACH_TEST(open_gateway, close_gateway)
