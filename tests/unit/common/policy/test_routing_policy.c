#include "tests/support/test.h"

#include <math.h>

#include "common/policy/routing_policy.h"

/* ---- prefill ---- */

TEST(round_robin_takes_the_worker_not_taken_for_longest)
{
    struct baton_routing_prefill_view views[] = {
        {.turn = 0}, {.turn = 0, .queued_tokens = 9000}, {.turn = 0}};
    for (uint64_t turn = 1; turn <= 9; turn++) {
        size_t taken = baton_routing_prefill(BATON_ROUTING_ROUND_ROBIN, views, 3);
        assert_int_equal(taken, (turn - 1) % 3);
        views[taken].turn = turn;
    }
}

TEST(idle_workers_take_turns_whatever_was_measured_last)
{
    struct baton_routing_prefill_view views[] = {
        {.tokens_per_s = 9000}, {.tokens_per_s = 10000}, {.tokens_per_s = 400}, {0}};
    int n_taken[4] = {0};
    for (uint64_t turn = 1; turn <= 40; turn++) {
        size_t taken = baton_routing_prefill(BATON_ROUTING_LEAST_LOADED, views, 4);
        views[taken].turn = turn;
        n_taken[taken]++;
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(n_taken[i], 10);
}

TEST(the_shorter_queue_is_taken)
{
    struct baton_routing_prefill_view views[] = {
        {.queued_tokens = 513, .tokens_per_s = 10000, .turn = 1},
        {.queued_tokens = 512, .tokens_per_s = 10000, .turn = 9}};
    assert_int_equal(baton_routing_prefill(BATON_ROUTING_LEAST_LOADED, views, 2), 1);
    views[0].tokens_per_s = views[1].tokens_per_s = 0; /* no worker has measured anything yet */
    assert_int_equal(baton_routing_prefill(BATON_ROUTING_LEAST_LOADED, views, 2), 1);
}

TEST(a_faster_worker_may_have_the_longer_queue)
{
    struct baton_routing_prefill_view views[] = {{.queued_tokens = 500, .tokens_per_s = 1000},
                                                 {.queued_tokens = 4000, .tokens_per_s = 10000}};
    assert_int_equal(baton_routing_prefill(BATON_ROUTING_LEAST_LOADED, views, 2), 1);
    views[1].queued_tokens = 6000;
    assert_int_equal(baton_routing_prefill(BATON_ROUTING_LEAST_LOADED, views, 2), 0);
}

TEST(a_match_wins_unless_waiting_takes_longer_than_it_saves)
{
    struct baton_routing_prefill_view views[] = {{.tokens_per_s = 10000},
                                                 {.tokens_per_s = 10000, .matched_tokens = 480}};
    for (views[1].queued_tokens = 0; views[1].queued_tokens < 1000; views[1].queued_tokens += 16) {
        size_t taken = baton_routing_prefill(BATON_ROUTING_PREFIX_AWARE, views, 2);
        assert_int_equal(taken, views[1].queued_tokens <= 480);
    }
    views[1].queued_tokens = 16;
    assert_int_equal(baton_routing_prefill(BATON_ROUTING_LEAST_LOADED, views, 2), 0);
}

TEST(the_longest_match_wins)
{
    const struct baton_routing_prefill_view views[] = {
        {.matched_tokens = 32}, {.matched_tokens = 480}, {0}};
    assert_int_equal(baton_routing_prefill(BATON_ROUTING_PREFIX_AWARE, views, 3), 1);
}

/* ---- decode ---- */

TEST(the_worker_with_fewest_requests_is_taken)
{
    struct baton_routing_decode_view views[] = {
        {.n_requests = 3, .n_free_blocks = 90, .step_s = 0.010},
        {.n_requests = 2, .n_free_blocks = 10, .step_s = 0.018}};
    assert_int_equal(baton_routing_decode(BATON_ROUTING_LEAST_LOADED, views, 2), 1);
    views[1].n_requests = 3; /* equally many: more free blocks */
    assert_int_equal(baton_routing_decode(BATON_ROUTING_LEAST_LOADED, views, 2), 0);
}

TEST(a_much_slower_worker_gets_fewer)
{
    struct baton_routing_decode_view views[] = {{.step_s = 0.010}, {.step_s = 0.030}};
    int n_taken[2] = {0};
    for (uint64_t turn = 1; turn <= 40; turn++) {
        size_t taken = baton_routing_decode(BATON_ROUTING_LEAST_LOADED, views, 2);
        views[taken].turn = turn;
        views[taken].n_requests++;
        n_taken[taken]++;
    }
    assert_int_equal(n_taken[0], 30);
    assert_int_equal(n_taken[1], 10);
}

TEST(one_disturbed_step_does_not_keep_work_away)
{
    const struct baton_routing_decode_view views[] = {{.n_requests = 8, .step_s = 0.012},
                                                      {.n_requests = 0, .step_s = 3.0}};
    assert_int_equal(baton_routing_decode(BATON_ROUTING_LEAST_LOADED, views, 2), 1);
}

TEST(idle_decode_workers_take_turns)
{
    struct baton_routing_decode_view views[] = {{.step_s = 0.010}, {.step_s = 0.500}, {0}};
    for (uint64_t turn = 1; turn <= 9; turn++) {
        size_t taken = baton_routing_decode(BATON_ROUTING_LEAST_LOADED, views, 3);
        assert_int_equal(taken, (turn - 1) % 3);
        views[taken].turn = turn;
    }
}

TEST(of_the_least_loaded_the_one_that_has_the_prompt_is_taken)
{
    struct baton_routing_decode_view views[] = {{.n_free_blocks = 90},
                                                {.n_free_blocks = 50, .turn = 3}};
    views[1].matched_tokens = 64;
    assert_int_equal(baton_routing_decode(BATON_ROUTING_PREFIX_AWARE, views, 2), 1);
    assert_int_equal(baton_routing_decode(BATON_ROUTING_LEAST_LOADED, views, 2), 0);
    views[1].n_requests = 1;
    assert_int_equal(baton_routing_decode(BATON_ROUTING_PREFIX_AWARE, views, 2), 0);
}

TEST(a_worker_with_many_prompts_for_more_than_a_second_is_backlogged)
{
    assert_true(baton_routing_is_backlogged(32, 1.01));
    assert_false(baton_routing_is_backlogged(31, 60));
    assert_false(baton_routing_is_backlogged(1000, 1));
    assert_true(baton_routing_is_backlogged(32, NAN)); /* no rate is known */
}

/* ---- prompts that the decode worker runs ---- */

TEST(a_short_prompt_is_run_where_its_second_token_comes_first)
{
    struct baton_routing_colocated_view view = {.prompt_tokens = 16,
                                                .colocated_tokens_per_s = 8000,
                                                .tokens_per_s = 8000,
                                                .handoff_s = 0.002};
    assert_true(baton_routing_colocated_is_faster(&view));
    view.step_s = 0.010; /* streams run there */
    assert_false(baton_routing_colocated_is_faster(&view));
    view.queued_tokens = 512; /* and long prompts wait here */
    assert_true(baton_routing_colocated_is_faster(&view));
    view.colocated_queued_tokens = 1024;
    assert_false(baton_routing_colocated_is_faster(&view));
    view.more_tokens = 1024; /* an answer that only the decode worker has */
    assert_true(baton_routing_colocated_is_faster(&view));
}

TEST(a_rate_that_is_not_known_is_taken_to_be_the_others)
{
    struct baton_routing_colocated_view view = {
        .prompt_tokens = 16, .tokens_per_s = 8000, .handoff_s = 0.001};
    assert_true(baton_routing_colocated_is_faster(&view));
    view.tokens_per_s = 0;
    view.colocated_tokens_per_s = 8000;
    assert_true(baton_routing_colocated_is_faster(&view));
    view.colocated_tokens_per_s = 0;
    assert_true(baton_routing_colocated_is_faster(&view));
    view.step_s = 0.01;
    assert_false(baton_routing_colocated_is_faster(&view));
}

TEST(a_wait_is_tokens_by_rate)
{
    assert_true(fabs(baton_routing_wait_s(500, 1000) - 0.5) < 1e-12);
    assert_true(baton_routing_wait_s(0, 0) == 0);
    assert_true(baton_routing_wait_s(-5, 1000) == 0);
    assert_true(isnan(baton_routing_wait_s(1, 0)));
}
