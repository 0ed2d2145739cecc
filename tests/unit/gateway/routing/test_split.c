/* A prompt for three prefill workers, of which some have no blocks. */
#include "tests/unit/gateway/fixture.h"

enum { N_WORKERS = 3, N_PROMPT = 512 };

static struct far_worker workers[N_WORKERS], *first, *helpers[2];
static struct gw_choice client;

#define PREFILL BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST
#define START   BATON__V1__ENVELOPE__BODY_PARTS_START
#define CANCEL  BATON__V1__ENVELOPE__BODY_CANCEL

/* All are asked for blocks. The first part alone hands the context over. */
SETUP(ask_three_workers)
{
    static const char *const ids[] = {"prefill-0", "prefill-1", "prefill-2"};
    int n_helpers = 0;
    gateway_open(&(struct gw_routing_options){.prefill = BATON_ROUTING_LEAST_LOADED,
                                              .decode = BATON_ROUTING_LEAST_LOADED,
                                              .split = N_WORKERS,
                                              .split_min_tokens = 64});
    for (int i = 0; i < N_WORKERS; i++) {
        workers[i] = prefill_worker(ids[i]);
        workers[i].status.step_max_rows = 128;
        join(&workers[i]);
    }
    decode = decode_worker("decode-0");
    join(&decode);
    client = (struct gw_choice){0};
    ask(&client, &(struct wanted){.n_prompt = N_PROMPT, .n_new = 4});
    say_reserved(&decode, &client);
    first = NULL;
    for (int i = 0; i < N_WORKERS; i++) {
        const struct sent *prompt = last_sent(&workers[i], &client, PREFILL);
        assert_non_null(prompt);
        assert_true(prompt->in_parts);
        if (prompt->has_target)
            first = &workers[i];
        else
            helpers[n_helpers++ % 2] = &workers[i];
    }
    assert_non_null(first);
    assert_int_equal(n_helpers, 2);
}

/* The helpers are told to stop, and are free for others; the attempt goes on. */
static void expect_no_helpers(void)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(n_sent(helpers[i], &client, CANCEL), 1);
        assert_int_equal(n_sent(helpers[i], &client, START), 0);
        assert_int_equal(known(helpers[i])->n_active, 0);
    }
    assert_int_equal(n_sent(first, &client, CANCEL), 0);
    assert_int_equal(dispatcher.routing.n_split, 0);
    assert_int_equal(client.request->state, GW_PREFILLING);
    assert_int_equal(client.request->attempt.number, 1);
}

static void expect_first_alone(void)
{
    assert_int_equal(n_sent(first, &client, START), 1);
    assert_int_equal(last_sent(first, &client, START)->n_parts, 0);
    assert_int_equal(n_sent(first, &client, PREFILL), 1);
    expect_no_helpers();
}

/* Late messages of the helpers change nothing, and the prompt gets its token. */
static void finish(void)
{
    say_reserved(helpers[0], &client);
    say_rejected(helpers[1], &client);
    say_first(first, &client);
    assert_int_equal(client.request->state, GW_DECODING);
    say_tokens(&decode, &client, 1, 3);
    say_finished(&decode, &client, 4);
    assert_int_equal(client.n_finished, 1);
    assert_int_equal(metrics.n_retries, 0);
}

TEST(workers_that_all_have_blocks_are_told_to_start)
{
    say_reserved(helpers[0], &client);
    say_reserved(first, &client);
    assert_int_equal(n_sent(first, &client, START), 0);
    say_reserved(helpers[1], &client);
    for (int i = 0; i < N_WORKERS; i++)
        assert_int_equal(last_sent(&workers[i], &client, START)->n_parts, N_WORKERS);
    assert_int_equal(dispatcher.routing.n_split, 1);
}

TEST(a_rejection_after_the_start_changes_nothing)
{
    for (int i = 0; i < N_WORKERS; i++)
        say_reserved(&workers[i], &client);
    say_rejected(helpers[0], &client);
    for (int i = 0; i < N_WORKERS; i++) {
        assert_int_equal(n_sent(&workers[i], &client, START), 1);
        assert_int_equal(n_sent(&workers[i], &client, CANCEL), 0);
    }
    assert_int_equal(client.request->attempt.n_parts, N_WORKERS);
}

TEST(a_helper_without_blocks_leaves_the_prompt_to_the_first_that_has_them)
{
    say_reserved(first, &client);
    say_rejected(helpers[0], &client);
    expect_first_alone();
    finish();
}

TEST(a_helper_without_blocks_leaves_the_prompt_to_the_first_when_it_has_them)
{
    say_reserved(helpers[1], &client);
    say_rejected(helpers[0], &client);
    assert_int_equal(n_sent(first, &client, START), 0);
    expect_no_helpers();
    say_reserved(first, &client);
    expect_first_alone();
    finish();
}

static void expect_asked_again(void)
{
    assert_int_equal(n_sent(first, &client, PREFILL), 2);
    assert_false(last_sent(first, &client, PREFILL)->in_parts);
    assert_true(last_sent(first, &client, PREFILL)->has_target);
    assert_int_equal(n_sent(first, &client, START), 0);
    expect_no_helpers();
}

TEST(the_first_without_blocks_is_asked_again_to_wait_for_them)
{
    say_reserved(helpers[0], &client);
    say_rejected(first, &client);
    expect_asked_again();
    finish();
}

TEST(the_first_without_blocks_after_a_helper_is_asked_again)
{
    say_rejected(helpers[0], &client);
    say_rejected(first, &client);
    expect_asked_again();
    finish();
}

EACH_TEST(ask_three_workers, close_gateway)
