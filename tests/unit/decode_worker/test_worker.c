/* A decode worker as its gateway sees it: prompts, the batch, credit, ends (fixture.h). */
#include "tests/unit/decode_worker/fixture.h"

#include <stdio.h>

#include "tests/support/mailbox.h"

TEST(a_prompt_run_here_gives_the_tokens_of_a_single_run)
{
    const struct request_params requests[] = {
        {.id = 1, .n_prompt = 1, .n_new = 5, .words = 1, .stop = STOP_NONE},
        {.id = 2, .n_prompt = 37, .n_new = 40, .words = 2, .temperature = 0.9, .stop = STOP_NONE},
        {.id = 3, .n_prompt = 200, .n_new = 57, .words = 3, .temperature = 1.2, .stop = STOP_NONE}};
    worker_open(&(struct worker_options){0});
    for (size_t i = 0; i < 3; i++)
        run_here(&requests[i]);
}

/* As a gateway does: sends Reserve again while the batch is full, and meanwhile starts every
 * request that has its first token. */
static void reserve_at_last(const struct request_params *requests, size_t i, bool started[])
{
    struct heard *about = &heard[requests[i].id];
    while (!about->n_reserved) {
        int n_answers = about->n_rejected;
        say_reserve(&requests[i]);
        while (!about->n_reserved && about->n_rejected == n_answers)
            work_for_ms(1);
        for (size_t j = 0; j < i; j++) {
            if (!started[j] && heard[requests[j].id].n_first)
                say_start(&requests[j]);
            started[j] = heard[requests[j].id].n_first > 0;
        }
    }
}

TEST(prompts_beside_sequences_disturb_none)
{
    struct request_params requests[24];
    bool started[24] = {false};
    worker_open(&(struct worker_options){.max_batch = 5, .chunk = 3, .kv_tokens = 24 * N_CONTEXT});
    for (size_t i = 0; i < 24; i++) {
        requests[i] = (struct request_params){.id = i + 1,
                                              .n_prompt = 1 + (int)(i * 29 % 60),
                                              .n_new = 20 + (int)(i * 7 % 40),
                                              .words = i,
                                              .temperature = i % 2 ? 0.9 : 0,
                                              .stop = STOP_NONE,
                                              .explain = i % 5 ? 0 : 20};
        reserve_at_last(requests, i, started);
        say_prompt(&requests[i]);
    }
    for (size_t i = 0; i < 24; i++) {
        await(&heard[i + 1].n_first, 1);
        if (!started[i])
            say_start(&requests[i]);
    }
    for (size_t i = 0; i < 24; i++) {
        await(&heard[i + 1].n_finished, 1);
        assert_equals_single_run(&requests[i]);
        assert_int_equal(heard[i + 1].has_decision, i % 5 == 0);
    }
    assert_true(worker_status().tokens_per_s > 0 && worker_status().busy_s > 0);
}

/* Whether the others are woken before the first has run on is up to the scheduler: tried until. */
TEST(the_tokens_of_a_step_travel_in_one_message)
{
    struct request_params requests[4];
    worker_open(&(struct worker_options){0});
    for (size_t i = 0; i < 4; i++) {
        requests[i] = (struct request_params){
            .id = i + 1, .n_prompt = 20, .n_new = 230, .words = i, .credit = 1, .stop = STOP_NONE};
        run_prompt(&requests[i]);
        say_start(&requests[i]);
    }
    for (uint64_t n = 1; most_events < 4 && n < 225; n += 4) {
        for (size_t i = 0; i < 4; i++)
            say_ack(&requests[i], n, 4);
        for (size_t i = 0; i < 4; i++)
            await_tokens(&requests[i], n + 4);
    }
    assert_int_equal(most_events, 4);
    for (size_t i = 0; i < 4; i++)
        say_cancel(&requests[i]);
}

TEST(one_token_or_a_stop_token_frees_the_blocks_at_once)
{
    struct request_params params = {
        .id = 1, .n_prompt = 20, .n_new = 1, .words = 9, .stop = STOP_NONE};
    uint32_t tokens[N_CONTEXT];
    worker_open(&(struct worker_options){0});
    run_prompt(&params);
    await_idle();
    assert_false(heard[1].stopped);
    params.id = 2;
    params.n_new = 9;
    (void)single_run(&params, tokens);
    params.stop = tokens[0];
    run_prompt(&params);
    await_idle();
    assert_true(heard[2].stopped);
    params.id = 3;
    params.stop = tokens[4];
    run_here(&params);
    assert_true(heard[3].stopped);
}

TEST(a_paused_sequence_gives_its_slot_to_the_next)
{
    const struct request_params slow = {
        .id = 1, .n_prompt = 9, .n_new = 50, .words = 1, .credit = 3, .stop = STOP_NONE};
    const struct request_params next = {
        .id = 2, .n_prompt = 9, .n_new = 50, .words = 2, .stop = STOP_NONE};
    worker_open(&(struct worker_options){.max_batch = 1});
    run_prompt(&slow);
    say_start(&slow);
    await_tokens(&slow, 3);
    run_here(&next);
    assert_int_equal(heard[1].n_tokens, 3);
    say_ack(&slow, 3, N_CONTEXT);
    await(&heard[1].n_finished, 1);
    assert_equals_single_run(&slow);
}

TEST(a_full_batch_promises_no_more_until_one_ends_or_pauses)
{
    struct request_params params = {.n_prompt = 9, .n_new = 50, .credit = 5, .stop = STOP_NONE};
    worker_open(&(struct worker_options){.max_batch = 1});
    for (params.id = 1; params.id <= 3; params.id++) { /* one for the slot, two on their way */
        reserve_blocks(&params);
    }
    say_reserve(&params);
    await(&heard[4].n_rejected, 1);
    params.id = 1;
    say_cancel(&params);
    params.id = 5;
    reserve_blocks(&params);
    say_prompt(&params);
    await(&heard[5].n_first, 1);
    say_start(&params);
    await_tokens(&params, 5); /* it has no credit for more */
    params.id = 6;
    reserve_at_last(&params, 0, NULL);
    params.id = 7;
    say_reserve(&params);
    await(&heard[7].n_rejected, 1);
    for (params.id = 2; params.id <= 6; params.id++)
        say_cancel(&params);
    await_idle();
}

TEST(more_sequences_than_slots_all_come_to_their_end)
{
    struct request_params requests[20];
    bool started[20] = {false};
    worker_open(&(struct worker_options){.max_batch = 2, .kv_tokens = 20 * N_CONTEXT});
    for (size_t i = 0; i < 20; i++) {
        requests[i] = (struct request_params){
            .id = i + 1, .n_prompt = 5, .n_new = 30, .words = i, .credit = 7, .stop = STOP_NONE};
        reserve_at_last(requests, i, started);
        say_prompt(&requests[i]);
        await(&heard[i + 1].n_first, 1);
        say_start(&requests[i]);
        started[i] = true;
    }
    work_for_ms(20);
    for (size_t i = 0; i < 20; i++) { /* every one was paused, and none kept the others waiting */
        await_tokens(&requests[i], 7);
        assert_int_equal(heard[i + 1].n_tokens, 7);
        for (int n = 0; n < 5000; n++) /* however often it is woken */
            say_ack(&requests[i], 7, 0);
    }
    for (size_t i = 20; i-- > 0;)
        say_ack(&requests[i], 7, N_CONTEXT);
    for (size_t i = 0; i < 20; i++) {
        await(&heard[i + 1].n_finished, 1);
        assert_equals_single_run(&requests[i]);
    }
}

/* One that is canceled in each state below; worker_close finds every block free. */
static const struct request_params unwanted = {.id = 1,
                                               .n_prompt = 200,
                                               .n_new = 50,
                                               .words = 1,
                                               .credit = 3,
                                               .stop = STOP_NONE,
                                               .with_hashes = true};

static void cancel_and_close(void)
{
    say_cancel(&unwanted);
    await_idle();
    worker_close();
}

TEST(cancel_frees_a_reserved_context)
{
    worker_open(&(struct worker_options){0});
    say_reserve(&unwanted);
    cancel_and_close();
}

TEST(cancel_frees_a_context_whose_prompt_runs_here_and_shares_nothing_of_it)
{
    worker_open(&(struct worker_options){.chunk = 1});
    say_reserve(&unwanted);
    say_prompt(&unwanted);
    say_cancel(&unwanted);
    await_idle();
    assert_int_equal(worker_status().kv_blocks_cached, 0);
}

TEST(cancel_frees_a_prefilled_context_that_was_not_started)
{
    worker_open(&(struct worker_options){0});
    run_prompt(&unwanted);
    cancel_and_close();
}

TEST(cancel_frees_a_running_context_that_waits_for_credit)
{
    worker_open(&(struct worker_options){0});
    run_prompt(&unwanted);
    say_start(&unwanted);
    await_tokens(&unwanted, 3);
    cancel_and_close();
}

TEST(cancel_frees_a_started_context_of_which_nothing_was_received)
{
    worker_open(&(struct worker_options){0});
    reserve_blocks(&unwanted);
    say_start(&unwanted);
    say_cancel(&unwanted);
    await_idle();
    assert_int_equal(heard[1].n_tokens, 1);
}

TEST(a_deadline_ends_a_paused_sequence)
{
    const struct request_params paused = {.id = 1,
                                          .n_prompt = 9,
                                          .n_new = 50,
                                          .words = 1,
                                          .credit = 3,
                                          .deadline_ms = 30,
                                          .stop = STOP_NONE};
    struct request_params prompt = paused;
    prompt.deadline_ms = 0; /* however slow the machine is, it begins */
    worker_open(&(struct worker_options){0});
    run_prompt(&prompt);
    say_start(&paused);
    await(&heard[1].n_failed, 1);
    assert_int_equal(heard[1].failure, BATON__V1__FAILED__CODE__DEADLINE);
}

TEST(a_prompt_that_was_not_reserved_for_is_refused)
{
    struct request_params params = {
        .id = 1, .n_prompt = 20, .n_new = 5, .words = 1, .stop = STOP_NONE};
    worker_open(&(struct worker_options){0});
    say_reserve(&params);
    params.n_prompt = 21;
    say_prompt(&params);
    await(&heard[1].n_failed, 1);
    assert_int_equal(heard[1].failure, BATON__V1__FAILED__CODE__INVALID);
    params.id = 2;
    run_prompt(&params);
    say_prompt(&params); /* a second time */
    await(&heard[2].n_failed, 1);
    params.id = 3; /* without a reservation there is no answer */
    say_prompt(&params);
    work_for_ms(5);
}

TEST(a_worker_without_capacity_says_so)
{
    struct request_params params = {
        .id = 1, .n_prompt = 200, .n_new = 57, .words = 1, .stop = STOP_NONE, .with_hashes = true};
    worker_open(&(struct worker_options){.kv_tokens = N_CONTEXT});
    run_prompt(&params);
    params.id = 2;
    params.words = 2;
    say_reserve(&params);
    await(&heard[2].n_rejected, 1);
    params.id = 1;
    params.words = 1;
    say_start(&params);
    await(&heard[1].n_finished, 1);
    params.id = 3; /* the cached blocks are evicted for it */
    params.words = 2;
    run_here(&params);
}

/* A url without a listener, for now. */
static const char *free_url(void)
{
    static char url[64];
    struct mailbox box;
    assert_ok(mailbox_open(&box, NULL, 1));
    (void)snprintf(url, sizeof url, "%s", baton_inbox_url(box.inbox));
    mailbox_close(&box);
    return url;
}

TEST(a_link_that_is_full_delays_tokens_and_loses_none)
{
    const struct request_params params = {
        .id = 1, .n_prompt = 20, .n_new = 60, .words = 1, .temperature = 1, .stop = STOP_NONE};
    for (size_t max_queued = 1; max_queued <= 3; max_queued++) { /* Reserved, FirstToken, events */
        worker_open(&(struct worker_options){.gateway_url = free_url(), .max_queued = max_queued});
        say_reserve(&params);
        say_prompt(&params);
        work_for_ms(20);
        say_start(&params);
        heard[1].n_tokens = 0; /* it has yet to be heard */
        work_for_ms(20);
        open_gateway();
        await(&heard[1].n_finished, 1);
        assert_equals_single_run(&params);
        worker_close();
    }
}

EACH_TEST(NULL, worker_end)
