/* A decode worker that speculates: its tokens are those of a run without (fixture.h). */
#include "common/base/array.h"
#include "tests/unit/decode_worker/fixture.h"

#include <stdio.h>
#include <string.h>

#include "decode_worker/draft_model.h"
#include "engine/checkpoint/tokenizer_tables.h"
#include "tests/support/mailbox.h"

/* A random model that is greedy repeats itself soon; a warm one hardly does. */
static const struct request_params kinds[] = {
    {.n_prompt = 30, .n_new = 200, .words = 1, .drafts = 8, .stop = STOP_NONE},
    {.n_prompt = 60, .n_new = 150, .words = 2, .drafts = 16, .temperature = 0.3, .stop = STOP_NONE},
    {.n_prompt = 9, .n_new = 120, .words = 3, .drafts = 4, .penalty = 0.2, .stop = STOP_NONE},
    {.n_prompt = 9,
     .n_new = 100,
     .words = 4,
     .drafts = 3,
     .temperature = 0.1,
     .penalty = 0.01,
     .explain = 20,
     .stop = STOP_NONE},
    {.n_prompt = 12, .n_new = 90, .words = 5, .drafts = 1, .stop = STOP_NONE},
    {.n_prompt = 12, .n_new = 90, .words = 6, .stop = STOP_NONE},
};
enum { N_KINDS = BATON_N_OF(kinds) };

TEST(drafts_change_no_token_alone_or_in_a_batch)
{
    size_t n_accepted = 0;
    struct request_params requests[N_KINDS];
    /* Fewer than the requests, which it promises slots to all the same: none need end before. */
    worker_open(&(struct worker_options){.max_batch = 4});
    for (size_t i = 0; i < N_KINDS; i++) {
        requests[i] = kinds[i];
        requests[i].id = i + 1;
        run_here(&requests[i]);
        assert_true(heard[i + 1].n_drafted <= (size_t)requests[i].drafts * requests[i].n_new);
        n_accepted += heard[i + 1].n_accepted;
    }
    assert_true(n_accepted > 100);
    for (size_t i = 0; i < N_KINDS; i++) {
        requests[i].id = N_KINDS + i + 1;
        run_prompt(&requests[i]);
        say_start(&requests[i]);
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        await(&heard[requests[i].id].n_finished, 1);
        assert_equals_single_run(&requests[i]);
    }
}

TEST(a_context_that_was_sent_or_resumed_speculates_too)
{
    struct request_params request = kinds[0];
    worker_open(&(struct worker_options){0});
    request.id = 1;
    run_sent(&request);
    assert_true(heard[1].n_accepted > 20);
    request.id = 2;
    request.n_resumed = 70;
    resume(&request);
    run_here(&request);
    assert_true(heard[2].n_accepted > 20);
}

TEST(a_stop_token_ends_a_step_that_has_drafts_behind_it)
{
    uint32_t tokens[N_CONTEXT];
    int n_stopped = 0;
    worker_open(&(struct worker_options){0});
    for (uint64_t i = 1; i < 20; i++) {
        struct request_params request = kinds[0];
        request.id = i;
        (void)single_run(&request, tokens);
        request.stop = tokens[10 * i - 1];
        if (request.stop == tokens[0])
            continue;
        run_here(&request);
        assert_true(heard[i].stopped);
        n_stopped++;
    }
    assert_true(n_stopped > 5);
}

TEST(drafts_stay_within_credit)
{
    struct request_params request = kinds[0];
    worker_open(&(struct worker_options){0});
    request.id = 1;
    request.credit = 5;
    run_prompt(&request);
    say_start(&request);
    for (size_t n = 5; n <= 200; n += 5) {
        await_tokens(&request, n);
        work_for_ms(1);
        assert_int_equal(heard[1].n_tokens, n);
        say_ack(&request, n, 5);
    }
    await(&heard[1].n_finished, 1);
    assert_equals_single_run(&request);
}

/* ---- a draft model ---- */

static struct request_params with_model(int kind, uint64_t id)
{
    struct request_params request = kinds[kind];
    request.id = id;
    request.with_model = true;
    request.min_drafts = request.drafts;
    return request;
}

/* It draws by the same draws, so that all its drafts are right where nothing else tells the two
 * apart: penalties do not count a step's own drafts. */
TEST(drafts_of_the_model_itself_are_right_at_any_temperature)
{
    worker_open(&(struct worker_options){.draft_seed = 1});
    for (int i = 0; i < 2; i++) {
        struct request_params request = with_model(i, (uint64_t)i + 1);
        run_here(&request);
        assert_true(heard[i + 1].n_drafted >= (size_t)request.n_new / 2);
        assert_int_equal(heard[i + 1].n_accepted, heard[i + 1].n_drafted);
    }
}

TEST(a_draft_model_changes_no_token_alone_or_in_a_batch)
{
    const struct worker_options drafters[] = {{.draft_seed = 1},
                                              {.draft_seed = 2},
                                              {.draft_seed = 1, .draft_vocab = N_VOCAB + 20},
                                              {.draft_seed = 2, .draft_vocab = N_VOCAB - 20},
                                              {.draft_seed = 1, .draft_context = 40}};
    struct request_params requests[N_KINDS];
    for (size_t k = 0; k < BATON_N_OF(drafters); k++) {
        struct worker_options worker = drafters[k];
        worker.max_batch = N_KINDS;
        worker_open(&worker);
        for (size_t i = 0; i < N_KINDS; i++) {
            requests[i] = with_model((int)i, i + 1);
            requests[i].with_model = i != 2; /* one that looks its drafts up is among them */
            run_prompt(&requests[i]);
            say_start(&requests[i]);
        }
        for (size_t i = 0; i < N_KINDS; i++) {
            await(&heard[requests[i].id].n_finished, 1);
            assert_equals_single_run(&requests[i]);
        }
        worker_close();
    }
}

TEST(a_draft_model_knows_a_context_that_was_sent_or_resumed)
{
    struct request_params request = with_model(0, 1);
    worker_open(&(struct worker_options){.draft_seed = 1});
    run_sent(&request);
    assert_int_equal(heard[1].n_accepted, heard[1].n_drafted);
    request.id = 2;
    request.n_resumed = 70;
    resume(&request);
    run_here(&request);
    assert_int_equal(heard[2].n_accepted, heard[2].n_drafted);
    assert_true(heard[2].n_drafted > 50);
}

TEST(a_draft_model_without_blocks_leaves_the_request_without_drafts)
{
    struct request_params request = with_model(0, 1);
    worker_open(&(struct worker_options){.draft_seed = 1, .draft_blocks = 2});
    run_here(&request);
    assert_int_equal(heard[1].n_drafted, 0);
}

TEST(a_request_for_a_draft_model_runs_where_there_is_none)
{
    struct request_params request = with_model(0, 1);
    worker_open(&(struct worker_options){0});
    run_here(&request);
    assert_int_equal(heard[1].n_drafted, 0);
}

/* A step whose message finds no room is made again, with its drafts. */
TEST(a_link_that_is_full_delays_drafts_and_loses_none)
{
    struct request_params request = with_model(0, 1);
    static char url[64];
    struct mailbox box;
    assert_ok(mailbox_open(&box, NULL, 1));
    (void)snprintf(url, sizeof url, "%s", baton_inbox_url(box.inbox));
    mailbox_close(&box);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        worker_open(
            &(struct worker_options){.draft_seed = seed, .gateway_url = url, .max_queued = 3});
        say_reserve(&request);
        say_prompt(&request);
        work_for_ms(20);
        say_start(&request);
        heard[1].n_tokens = 0; /* it has yet to be heard */
        work_for_ms(20);
        open_gateway();
        await(&heard[1].n_finished, 1);
        assert_equals_single_run(&request);
        assert_true(seed > 1 || heard[1].n_accepted == heard[1].n_drafted);
        worker_close();
    }
}

/* Ids that both know must be the same tokens; a longer vocabulary is padded. */
TEST(another_vocabulary_is_told_by_its_first_token)
{
    struct baton_token_row ours[] = {{"a", 1}, {"b", 1}, {NULL, 0}};
    struct baton_token_row theirs[] = {{"a", 1}, {"b", 1}, {NULL, 0}, {"[PAD3]", 6}};
    struct baton_tokenizer_tables model = {.tokens = ours, .n_tokens = 3},
                                  draft = {.tokens = theirs, .n_tokens = 4};
    struct baton_why why = {""};
    assert_ok(dc_draft_vocabulary_check(&model, &draft, &why));
    assert_ok(dc_draft_vocabulary_check(&draft, &model, &why));
    theirs[1].text = "c";
    assert_int_equal(dc_draft_vocabulary_check(&model, &draft, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "token 1 is \"c\" there and \"b\" in the model"));
    theirs[1] = (struct baton_token_row){NULL, 0};
    assert_int_equal(dc_draft_vocabulary_check(&model, &draft, &why), BATON_INVALID);
}

TEST(a_sequence_with_a_draft_model_may_be_canceled_or_stopped)
{
    uint32_t tokens[N_CONTEXT];
    struct request_params request = with_model(0, 1);
    worker_open(&(struct worker_options){.draft_seed = 2});
    request.credit = 9;
    run_prompt(&request);
    say_start(&request);
    await_tokens(&request, 9);
    say_cancel(&request);
    await_idle();
    request = with_model(1, 2);
    (void)single_run(&request, tokens);
    request.stop = tokens[40];
    run_here(&request);
}

EACH_TEST(NULL, worker_end)
