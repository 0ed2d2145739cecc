/* A prefill worker, from the request to the context in the decode worker's blocks. */
#include "tests/support/test.h"

#include "tests/unit/prefill_worker/fixture.h"

#include <string.h>

TEST(a_prompt_without_a_hand_off_gets_its_first_token)
{
    const struct request_params params = {.id = 1, .n_prompt = 100, .n_new = 1, .words = 1};
    worker_open(&(struct worker_options){0});
    say_prompt(&params);
    await(&heard[1].n_first, 1);
    await_idle();
    assert_int_equal(n_received, 0);
}

static void hand_over(const struct worker_options *options)
{
    worker_open(options);
    for (uint64_t i = 1; i <= 6; i++)
        say_prompt(&(struct request_params){
            .id = i, .n_prompt = 60 * (int)i, .n_new = 9, .words = i, .delivers = true});
    await(&n_received, 6);
    for (uint64_t i = 1; i <= 6; i++) {
        await(&heard[i].n_first, 1);
        assert_true(
            equals_own_run(&(struct request_params){.id = i, .n_prompt = 60 * (int)i, .words = i}));
        if (options->path == BATON_KV_PATH_SHARED)
            assert_true(came_shared(i));
        if (options->path == BATON_KV_PATH_WIRE || options->decode_path == BATON_KV_PATH_WIRE)
            assert_true(came_wired(i));
    }
    assert_int_equal(n_lost, 0);
    worker_close();
}

TEST(contexts_arrive_to_the_bit_while_their_prompts_are_computed)
{
    hand_over(&(struct worker_options){.overlap = BATON_OVERLAP_ON});
}

TEST(contexts_arrive_to_the_bit_after_their_prompts)
{
    hand_over(&(struct worker_options){.overlap = BATON_OVERLAP_OFF});
}

TEST(contexts_arrive_to_the_bit_through_shared_memory)
{
    hand_over(&(struct worker_options){.overlap = BATON_OVERLAP_ON, .path = BATON_KV_PATH_SHARED});
    hand_over(&(struct worker_options){.overlap = BATON_OVERLAP_OFF, .path = BATON_KV_PATH_SHARED});
}

TEST(contexts_arrive_to_the_bit_over_the_wire)
{
    hand_over(&(struct worker_options){.path = BATON_KV_PATH_WIRE});
    hand_over(&(struct worker_options){.decode_path = BATON_KV_PATH_WIRE});
}

TEST(a_context_that_may_not_travel_is_given_up_where_the_pool_is_not_mapped)
{
    const struct request_params params = {
        .id = 1, .n_prompt = 20, .n_new = 9, .words = 1, .delivers = true};
    worker_open(
        &(struct worker_options){.path = BATON_KV_PATH_SHARED, .decode_path = BATON_KV_PATH_WIRE});
    say_prompt(&params);
    await(&heard[1].n_failed, 1);
    assert_int_equal(heard[1].failure, BATON__V1__FAILED__CODE__UNREACHABLE);
    assert_int_equal(n_received, 0);
}

TEST(a_prompt_that_shares_a_prefix_starts_behind_it)
{
    struct request_params params = {
        .id = 1, .n_prompt = 200, .n_new = 9, .words = 1, .hashes = OUR_HASHES};
    worker_open(&(struct worker_options){0});
    say_prompt(&params);
    await(&heard[1].n_first, 1);
    assert_int_equal(heard[1].cached_tokens, 0);
    await_idle();
    params.id = 2;
    params.delivers = true;
    say_prompt(&params);
    await(&n_received, 1);
    await(&heard[2].n_first, 1);
    assert_int_equal(heard[2].cached_tokens, 192);
    assert_int_equal(heard[2].first_token, heard[1].first_token);
    assert_true(equals_own_run(&params));
    assert_int_equal(worker_status().prefix_hit_tokens, 192);
}

/* Twice the same prompt; nothing may be found the second time. */
static void share_nothing(const struct worker_options *options, struct request_params params)
{
    worker_open(options);
    for (params.id = 1; params.id <= 2; params.id++) {
        say_prompt(&params);
        await(&heard[params.id].n_first, 1);
        await_idle();
        assert_int_equal(heard[params.id].cached_tokens, 0);
    }
    assert_int_equal(worker_status().kv_blocks_cached, 0);
    worker_close();
}

/* The prompt's embedding, asked for under this id and awaited. */
static const float *embed(struct request_params params)
{
    say_prompt(&params);
    await(&heard[params.id].n_embeddings, 1);
    await_idle();
    assert_int_equal(heard[params.id].n_first, 0);
    return heard[params.id].embedding;
}

static void embeds_alike(Baton__V1__Pooling pooling, uint32_t n_cached)
{
    struct request_params params = {
        .id = 1, .n_prompt = 200, .n_new = 1, .words = 1, .hashes = OUR_HASHES, .pooling = pooling};
    worker_open(&(struct worker_options){0});
    const float *alone = embed(params);
    params.id = 2; /* now that its blocks are cached */
    assert_memory_equal(embed(params), alone, sizeof heard[1].embedding);
    assert_int_equal(heard[2].cached_tokens, n_cached);
    params.words = 2; /* beside prompts that want tokens or other embeddings */
    for (params.id = 3; params.id < 20; params.id++) {
        params.n_prompt = 20 * (int)params.id;
        params.pooling = (Baton__V1__Pooling)(params.id % 3);
        say_prompt(&params);
    }
    params = (struct request_params){
        .id = 20, .n_prompt = 200, .n_new = 1, .words = 1, .pooling = pooling};
    assert_memory_equal(embed(params), alone, sizeof heard[1].embedding);
    for (uint64_t i = 3; i < 20; i++)
        await(i % 3 ? &heard[i].n_embeddings : &heard[i].n_first, 1);
    worker_close();
}

TEST(an_embedding_has_the_same_bits_alone_cached_and_beside_others)
{
    embeds_alike(BATON__V1__POOLING__POOLING_LAST, 192);
    embeds_alike(BATON__V1__POOLING__POOLING_MEAN, 0); /* of which all rows are computed */
}

TEST(an_embedding_of_one_token_is_its_hidden_state_however_it_is_pooled)
{
    float last[MAX_EMBEDDING];
    struct request_params params = {.id = 1,
                                    .n_prompt = 1,
                                    .n_new = 1,
                                    .words = 1,
                                    .pooling = BATON__V1__POOLING__POOLING_LAST};
    worker_open(&(struct worker_options){0});
    memcpy(last, embed(params), sizeof last);
    params.id = 2;
    params.pooling = BATON__V1__POOLING__POOLING_MEAN;
    assert_memory_equal(embed(params), last, sizeof last);
    params.id = 3;
    params.n_prompt = 2;
    assert_memory_not_equal(embed(params), last, sizeof last);
}

TEST(a_prompt_without_hashes_shares_nothing)
{
    share_nothing(&(struct worker_options){0},
                  (struct request_params){.n_prompt = 100, .words = 1});
}

TEST(hashes_of_another_model_share_nothing)
{
    share_nothing(&(struct worker_options){0},
                  (struct request_params){.n_prompt = 100, .words = 1, .hashes = FOREIGN_HASHES});
}

TEST(a_worker_without_a_prefix_cache_shares_nothing)
{
    share_nothing(&(struct worker_options){.no_prefix_cache = true},
                  (struct request_params){.n_prompt = 100, .words = 1, .hashes = OUR_HASHES});
}

TEST(more_hashes_than_whole_blocks_are_refused)
{
    worker_open(&(struct worker_options){0});
    say_prompt(
        &(struct request_params){.id = 1, .n_prompt = 33, .words = 1, .hashes = TOO_MANY_HASHES});
    await(&heard[1].n_failed, 1);
    assert_int_equal(heard[1].failure, BATON__V1__FAILED__CODE__INVALID);
}

TEST(a_naive_job_resumed_at_any_index_makes_the_tokens_of_one_run)
{
    struct request_params params = {.id = 1,
                                    .n_prompt = 20,
                                    .n_new = 9,
                                    .words = 1,
                                    .naive = true,
                                    .credit = 99,
                                    .temperature = 0.9};
    worker_open(&(struct worker_options){0});
    say_prompt(&params);
    await(&heard[1].n_finished, 1);
    params.resumes = 1;
    for (params.n_resumed = 1; params.n_resumed < params.n_new; params.n_resumed++) {
        params.id++;
        say_prompt(&params);
        await(&heard[params.id].n_finished, 1);
        assert_int_equal(heard[params.id].n_tokens, params.n_new);
        assert_memory_equal(heard[params.id].tokens, heard[1].tokens,
                            (size_t)params.n_new * sizeof heard[1].tokens[0]);
    }
}

TEST(a_naive_job_pauses_without_credit_and_goes_on_with_it)
{
    const struct request_params params = {
        .id = 1, .n_prompt = 20, .n_new = 6, .words = 1, .naive = true, .credit = 2};
    worker_open(&(struct worker_options){0});
    say_prompt(&params);
    await(&heard[1].n_tokens, 2);
    say_ack(&params, 2, 100);
    await(&heard[1].n_finished, 1);
    assert_int_equal(heard[1].n_tokens, 6);
}

TEST(a_paused_naive_job_gives_its_blocks_to_a_prompt_that_waits)
{
    struct request_params params = {
        .id = 1, .n_prompt = 400, .n_new = 6, .words = 1, .naive = true, .credit = 99};
    worker_open(&(struct worker_options){.kv_tokens = N_CONTEXT});
    say_prompt(&params);
    await(&heard[1].n_finished, 1);
    params.id = 2;
    params.credit = 2;
    say_prompt(&params);
    await(&heard[2].n_tokens, 2);
    say_prompt(&(struct request_params){.id = 3, .n_prompt = 400, .words = 2});
    await(&heard[3].n_first, 1);
    say_ack(&params, 2, 99);
    await(&heard[2].n_finished, 1);
    assert_int_equal(heard[2].n_tokens, 6);
    assert_memory_equal(heard[2].tokens, heard[1].tokens, 6 * sizeof heard[1].tokens[0]);
}

TEST(prompt_logprobs_come_before_the_first_token)
{
    const struct request_params params = {
        .id = 1, .n_prompt = 150, .words = 1, .prompt_logprobs = true};
    worker_open(&(struct worker_options){0});
    say_prompt(&params);
    await(&heard[1].n_first, 1);
    assert_int_equal(heard[1].n_prompt_logprobs, 149);
}

TEST(progress_is_told_after_every_step_before_the_last)
{
    worker_open(&(struct worker_options){0});
    say_prompt(
        &(struct request_params){.id = 1, .n_prompt = 400, .words = 1, .prompt_progress = true});
    say_prompt(&(struct request_params){.id = 2, .n_prompt = 400, .words = 2});
    await(&heard[1].n_first, 1);
    await(&heard[2].n_first, 1);
    assert_true(heard[1].n_progress >= 2 && heard[1].last_progress < 400);
    assert_int_equal(heard[2].n_progress, 0);
}

TEST(a_full_pool_starts_prompts_in_the_order_in_which_they_came)
{
    worker_open(&(struct worker_options){.kv_tokens = N_CONTEXT});
    for (uint64_t i = 1; i <= 5; i++)
        say_prompt(
            &(struct request_params){.id = i, .n_prompt = 400, .words = i, .delivers = true});
    await(&n_received, 5);
}

TEST(cancel_frees_a_waiting_a_running_and_a_paused_job)
{
    struct request_params params = {.id = 1, .n_prompt = 500, .n_new = 9, .words = 1};
    worker_open(&(struct worker_options){.kv_tokens = N_CONTEXT});
    say_prompt(&params);
    params.id = 2; /* the pool is full: it waits */
    say_prompt(&params);
    say_cancel(&params);
    params.id = 1;
    say_cancel(&params);
    await_idle();
    params = (struct request_params){
        .id = 3, .n_prompt = 20, .n_new = 9, .words = 1, .naive = true, .credit = 1};
    say_prompt(&params);
    await(&heard[3].n_tokens, 1);
    say_cancel(&params);
}

TEST(a_deadline_ends_a_job_that_waits)
{
    struct request_params params = {.id = 1,
                                    .n_prompt = 20,
                                    .n_new = 9,
                                    .words = 1,
                                    .naive = true,
                                    .credit = 1,
                                    .deadline_ms = 30};
    worker_open(&(struct worker_options){0});
    say_prompt(&params);
    await(&heard[1].n_failed, 1);
    assert_int_equal(heard[1].failure, BATON__V1__FAILED__CODE__DEADLINE);
}

TEST(a_decode_worker_that_goes_away_fails_the_hand_off)
{
    struct request_params params = {
        .id = 1, .n_prompt = 20, .n_new = 9, .words = 1, .delivers = true};
    worker_open(&(struct worker_options){.overlap = BATON_OVERLAP_OFF});
    say_prompt(&params);
    await(&n_received, 1); /* the link is up */
    params.id = 2;
    params.n_prompt = 500;
    say_prompt(&params);
    work_alone(); /* so the hand-off cannot be through */
    drop_decode_worker();
    await(&heard[2].n_failed, 1);
    assert_int_equal(heard[2].failure, BATON__V1__FAILED__CODE__CONTEXT_LOST);
}

EACH_TEST(NULL, worker_end)
