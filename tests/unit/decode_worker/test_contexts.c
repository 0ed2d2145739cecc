/* Contexts of a decode worker that come from elsewhere: sent by prefill workers, resumed after an
 * earlier attempt, or shared with requests of the same prefix (fixture.h). */
#include "common/base/array.h"
#include "tests/unit/decode_worker/fixture.h"

TEST(a_context_that_is_sent_gives_the_same_tokens)
{
    const struct request_params params = {
        .id = 1, .n_prompt = 90, .n_new = 30, .words = 4, .temperature = 0.8, .stop = STOP_NONE};
    worker_open(&(struct worker_options){0});
    run_sent(&params);
    assert_true(heard[1].kv_bytes > 0);
}

/* The draws are keyed by position, and penalties count what earlier attempts made as output. */
static void resume_everywhere(void (*run)(const struct request_params *params))
{
    enum { N_NEW = 24 };
    worker_open(&(struct worker_options){0});
    for (int n_resumed = 1; n_resumed < N_NEW - 1; n_resumed++) {
        const struct request_params params = {.id = (uint64_t)n_resumed,
                                              .n_prompt = 21,
                                              .n_new = N_NEW,
                                              .n_resumed = n_resumed,
                                              .words = 5,
                                              .temperature = n_resumed % 3 ? 0.9 : 0,
                                              .penalty = n_resumed % 2 ? 0.8 : 0,
                                              .with_hashes = n_resumed % 5 == 0,
                                              .stop = STOP_NONE};
        resume(&params);
        run(&params);
    }
    worker_close();
}

TEST(a_prompt_resumed_here_at_any_index_gives_the_tokens_of_a_single_run)
{
    resume_everywhere(run_here);
}

TEST(a_context_resumed_at_any_index_gives_the_tokens_of_a_single_run)
{
    resume_everywhere(run_sent);
}

/* The start follows only when the sender has told the gateway that everything arrived. */
static void run_moved(const struct request_params *params)
{
    resume(params);
    reserve_blocks(params);
    ship(params, 0, 1, 1);
    await(&heard[params->id].n_received, 1);
    say_start(params);
    await(&heard[params->id].n_finished, 1);
    assert_equals_single_run(params);
}

TEST(a_context_that_grew_to_any_length_gives_the_tokens_of_a_single_run)
{
    worker_open(&(struct worker_options){0});
    for (int n_resumed = 1; n_resumed < 44; n_resumed++) {
        const struct request_params params = {.id = (uint64_t)n_resumed,
                                              .n_prompt = 21,
                                              .n_new = 46,
                                              .n_resumed = n_resumed,
                                              .words = 6,
                                              .temperature = n_resumed % 3 ? 0.9 : 0,
                                              .penalty = n_resumed % 2 ? 0.8 : 0,
                                              .stop = STOP_NONE,
                                              .grows = true,
                                              .grew_by = n_resumed * (n_resumed % 4) / 3};
        run_moved(&params);
    }
}

/* The length is its sender's word; the blocks must bear it out, and Reserve allow it. */
TEST(a_context_that_grew_to_a_false_length_is_lost)
{
    static const int wrong[] = {-1000, -21, -8, BATON_KV_BLOCK_TOKENS, 20, 1000};
    worker_open(&(struct worker_options){0});
    for (size_t i = 0; i < BATON_N_OF(wrong); i++) {
        const struct request_params params = {.id = i + 1,
                                              .n_prompt = 40,
                                              .n_new = 30,
                                              .n_resumed = 8,
                                              .words = 7,
                                              .stop = STOP_NONE,
                                              .grows = true,
                                              .grew_by = 7,
                                              .kv_end_off = wrong[i] > -48 ? wrong[i] : -48};
        resume(&params);
        reserve_blocks(&params);
        ship(&params, 0, 3, 1);
        await(&heard[params.id].n_failed, 1);
        assert_int_equal(heard[params.id].failure, BATON__V1__FAILED__CODE__CONTEXT_LOST);
    }
}

TEST(a_stranger_who_knows_the_request_cannot_touch_its_context)
{
    const struct request_params params = {
        .id = 1, .n_prompt = 90, .n_new = 30, .words = 4, .temperature = 0.8, .stop = STOP_NONE};
    worker_open(&(struct worker_options){0});
    reserve_blocks(&params);
    claim_and_lose(&params, false);
    ship(&params, 0, 2, 1);
    await(&heard[1].n_received, 1);
    claim_and_lose(&params, true); /* whoever has the ticket comes second all the same */
    say_start(&params);
    await(&heard[1].n_finished, 1);
    assert_equals_single_run(&params);
    assert_int_equal(heard[1].n_failed, 0);
}

/* Whoever has one ticket has no right to the contexts of others. */
TEST(a_sender_with_a_ticket_of_its_own_cannot_touch_another_context)
{
    const struct request_params params = {
        .id = 1, .n_prompt = 90, .n_new = 30, .words = 4, .temperature = 0.8, .stop = STOP_NONE};
    const struct request_params own = {
        .id = 2, .n_prompt = 50, .n_new = 5, .words = 5, .stop = STOP_NONE};
    worker_open(&(struct worker_options){0});
    say_reserve(&params);
    reserve_blocks(&own);
    intrude_and_lose(&own, &params);
    await(&heard[2].n_failed, 1);
    assert_int_equal(heard[2].failure, BATON__V1__FAILED__CODE__CONTEXT_LOST);
    ship(&params, 0, 2, 1);
    say_start(&params);
    await(&heard[1].n_finished, 1);
    assert_equals_single_run(&params);
    assert_int_equal(heard[1].n_failed, 0);
}

/* Such as one that died between its KvBegin and this worker's dialling it. */
TEST(a_sender_out_of_reach_is_given_up_with_its_contexts)
{
    const struct request_params params = {
        .id = 1, .n_prompt = 40, .n_new = 5, .words = 4, .stop = STOP_NONE};
    const struct request_params next = {
        .id = 2, .n_prompt = 50, .n_new = 9, .words = 5, .stop = STOP_NONE};
    worker_open(&(struct worker_options){.silence_s = 1});
    reserve_blocks(&params);
    claim_from_nowhere(&params);
    assert_int_equal(heard[1].failure, BATON__V1__FAILED__CODE__CONTEXT_LOST);
    run_sent(&next);
}

/* The ticket of a request that is over still shows that its sender is of the fleet. */
TEST(a_context_that_was_canceled_meanwhile_costs_its_sender_nothing)
{
    const struct request_params over = {
        .id = 1, .n_prompt = 40, .n_new = 5, .words = 4, .stop = STOP_NONE};
    const struct request_params next = {
        .id = 2, .n_prompt = 50, .n_new = 9, .words = 5, .stop = STOP_NONE};
    worker_open(&(struct worker_options){0});
    reserve_blocks(&over);
    say_cancel(&over);
    await_idle();
    ship(&over, 0, 2, 1);
    run_sent(&next);
    assert_int_equal(heard[1].n_failed + heard[2].n_failed, 0);
}

/* Either the start waits for the context, or the context for the start. */
TEST(a_hand_off_exposes_the_time_that_the_start_waited)
{
    enum { LATE_MS = 30 };
    struct request_params late = {
        .id = 1, .n_prompt = 90, .n_new = 5, .words = 4, .stop = STOP_NONE};
    struct request_params early = late;
    early.id = 2;
    worker_open(&(struct worker_options){0});
    reserve_blocks(&late);
    say_start(&late);
    work_for_ms(LATE_MS);
    ship(&late, 0, 2, 1);
    await(&heard[1].n_finished, 1);
    assert_true(heard[1].exposed_s >= LATE_MS / 1e3);
    reserve_blocks(&early);
    ship(&early, 0, 2, 1);
    await(&heard[2].n_received, 1);
    say_start(&early);
    await(&heard[2].n_finished, 1);
    assert_true(heard[2].exposed_s == 0);
}

TEST(a_hand_off_is_told_of_within_its_bounds)
{
    const struct request_params params = {
        .id = 1, .n_prompt = 90, .n_new = 5, .words = 4, .stop = STOP_NONE};
    worker_open(&(struct worker_options){0});
    run_sent(&params);
    assert_int_equal(heard[1].kv_chunks, N_HELD * 6);
    assert_true(heard[1].crc_s > 0);
    assert_true(heard[1].transfer_s > 0 && heard[1].transfer_s < SAID_OVERLAP_S);
    assert_true(heard[1].overlap_s == heard[1].transfer_s);
}

TEST(a_prefix_travels_once)
{
    struct request_params first = {
        .id = 1, .n_prompt = 100, .n_new = 9, .words = 7, .stop = STOP_NONE, .with_hashes = true};
    struct request_params again = first, longer = first;
    again.id = 2;
    longer.id = 3;
    longer.n_prompt = 140;
    worker_open(&(struct worker_options){0});
    run_sent(&first);
    assert_int_equal(heard[1].n_cached_blocks, 0);
    run_sent(&again);
    assert_int_equal(heard[2].n_cached_blocks, 6); /* of 7, of which one is not whole */
    assert_int_equal(heard[1].kv_bytes, 7 * heard[2].kv_bytes);
    run_sent(&longer);
    assert_int_equal(heard[3].n_cached_blocks, 6);
    Baton__V1__Status status = worker_status();
    assert_int_equal(status.prefix_tokens, (6 + 6 + 8) * 16);
    assert_int_equal(status.prefix_hit_tokens, (0 + 6 + 6) * 16);
    assert_int_equal(status.n_requests_max, 1);
    await_idle();
    assert_int_equal(worker_status().kv_blocks_cached, 8);
}

/* The next turn begins with the prompt and 60 tokens of its answer, of which the last computed none
 * of its own K and V. */
TEST(an_output_is_in_the_prefix_cache_once_its_sequence_is_over)
{
    static const struct {
        void (*run)(const struct request_params *params);
        uint32_t drafts;
        bool with_tail;
        uint32_t n_cached_blocks;
    } cases[] = {{run_sent, 0, true, 6},
                 {run_here, 0, true, 6},
                 {run_sent, 4, true, 6},
                 {run_sent, 0, false, 2}};
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        struct request_params answered = {.id = 1,
                                          .n_prompt = 40,
                                          .n_new = 60,
                                          .words = 5,
                                          .stop = STOP_NONE,
                                          .with_hashes = true,
                                          .drafts = cases[i].drafts,
                                          .with_tail = cases[i].with_tail};
        struct request_params next = answered;
        worker_open(&(struct worker_options){0});
        cases[i].run(&answered);
        next.id = 2;
        next.n_resumed = 60;
        next.n_new = 80;
        resume(&next);
        cases[i].run(&next);
        assert_int_equal(heard[2].n_cached_blocks, cases[i].n_cached_blocks);
        worker_close();
    }
}

TEST(blocks_that_an_output_had_when_it_was_canceled_are_registered)
{
    struct request_params canceled = {.id = 1,
                                      .n_prompt = 40,
                                      .n_new = 100,
                                      .words = 5,
                                      .credit = 30,
                                      .stop = STOP_NONE,
                                      .with_hashes = true,
                                      .with_tail = true};
    struct request_params next = {.id = 2,
                                  .n_prompt = 40,
                                  .n_new = 80,
                                  .n_resumed = 60,
                                  .words = 5,
                                  .stop = STOP_NONE,
                                  .with_hashes = true};
    worker_open(&(struct worker_options){0});
    run_prompt(&canceled);
    say_start(&canceled);
    await_tokens(&canceled, 30);
    say_cancel(&canceled);
    await_idle();
    resume(&next);
    run_here(&next);
    assert_int_equal(heard[2].n_cached_blocks, 4); /* 40 + 29 tokens */
}

TEST(a_tail_of_a_length_other_than_the_reservation_says_is_refused)
{
    const struct request_params params = {.id = 1,
                                          .n_prompt = 40,
                                          .n_new = 10,
                                          .words = 5,
                                          .stop = STOP_NONE,
                                          .with_hashes = true,
                                          .with_tail = true,
                                          .tail_off = 3};
    worker_open(&(struct worker_options){0});
    run_prompt(&params);
    say_start(&params);
    await(&heard[1].n_failed, 1);
    assert_int_equal(heard[1].failure, BATON__V1__FAILED__CODE__INVALID);
}

TEST(blocks_of_another_numeric_class_are_shared_if_they_came_from_it_and_none_is_made_here)
{
    struct request_params here = {.id = 1,
                                  .n_prompt = 64,
                                  .n_new = 9,
                                  .words = 8,
                                  .stop = STOP_NONE,
                                  .with_hashes = true,
                                  .with_foreign_hashes = true};
    struct request_params sent = here, again = here;
    sent.id = 2;
    again.id = 3;
    worker_open(&(struct worker_options){0});
    run_here(&here);
    run_sent(&sent);
    assert_int_equal(heard[2].n_cached_blocks, 0);
    run_sent(&again);
    assert_int_equal(heard[3].n_cached_blocks, 3);
}

TEST(a_prompt_run_here_shares_prefixes_both_ways)
{
    struct request_params first = {
        .id = 1, .n_prompt = 64, .n_new = 9, .words = 8, .stop = STOP_NONE, .with_hashes = true};
    struct request_params again = first, sent = first;
    again.id = 2;
    sent.id = 3;
    worker_open(&(struct worker_options){0});
    run_here(&first);
    assert_int_equal(heard[1].cached_tokens, 0);
    run_here(&again);
    assert_int_equal(heard[2].cached_tokens, 48);
    run_sent(&sent);
    assert_int_equal(heard[3].n_cached_blocks, 3);
}

TEST(sequences_share_blocks_while_both_run)
{
    struct request_params requests[3];
    worker_open(&(struct worker_options){0});
    for (size_t i = 0; i < 3; i++) {
        requests[i] = (struct request_params){.id = i + 1,
                                              .n_prompt = 100,
                                              .n_new = 100,
                                              .words = 7,
                                              .temperature = 1,
                                              .stop = STOP_NONE,
                                              .with_hashes = true};
        run_prompt(&requests[i]);
        await_prompts_back(); /* its blocks are registered then */
        assert_int_equal(heard[i + 1].cached_tokens, i ? 96 : 0);
    }
    for (size_t i = 0; i < 3; i++)
        say_start(&requests[i]);
    for (size_t i = 0; i < 3; i++) {
        await(&heard[i + 1].n_finished, 1);
        assert_equals_single_run(&requests[i]);
    }
}

TEST(the_cache_can_be_turned_off)
{
    struct request_params first = {
        .id = 1, .n_prompt = 64, .n_new = 4, .words = 8, .stop = STOP_NONE, .with_hashes = true};
    struct request_params again = first;
    again.id = 2;
    worker_open(&(struct worker_options){.no_prefix_cache = true});
    run_here(&first);
    run_sent(&again);
    assert_int_equal(heard[2].n_cached_blocks, 0);
    assert_int_equal(worker_status().kv_blocks_cached, 0);
}

TEST(a_context_other_than_reserved_is_refused)
{
    struct request_params params = {
        .id = 1, .n_prompt = 100, .n_new = 9, .words = 7, .stop = STOP_NONE, .with_hashes = true};
    worker_open(&(struct worker_options){0});
    run_sent(&params);
    params.id = 2; /* six blocks are here, and seven come */
    reserve_blocks(&params);
    ship(&params, 0, 7, 1);
    await(&heard[2].n_failed, 1);
    assert_int_equal(heard[2].failure, BATON__V1__FAILED__CODE__CONTEXT_LOST);
    params.id = 3; /* a block comes twice */
    reserve_blocks(&params);
    ship(&params, 6, 1, 2);
    await(&heard[3].n_failed, 1);
    params.id = 4; /* a correct context is still accepted */
    run_sent(&params);
}

TEST(a_context_of_another_layout_is_refused_with_its_own_code)
{
    static const char another[] =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct request_params params = {
        .id = 1, .n_prompt = 40, .n_new = 3, .words = 7, .stop = STOP_NONE, .kv_layout = another};
    worker_open(&(struct worker_options){0});
    reserve_blocks(&params);
    ship(&params, 0, 3, 1);
    await(&heard[1].n_failed, 1);
    assert_int_equal(heard[1].failure, BATON__V1__FAILED__CODE__OTHER_LAYOUT);
}

EACH_TEST(NULL, worker_end)
