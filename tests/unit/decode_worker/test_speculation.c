/* A decode worker that speculates: its tokens are those of a run without (fixture.h). */
#include "tests/unit/decode_worker/fixture.h"

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
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

TEST(drafts_change_no_token_alone_or_in_a_batch)
{
    size_t n_accepted = 0;
    struct request_params requests[N_KINDS];
    worker_open(&(struct worker_options){.max_batch = 3});
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
    worker_close();
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
    worker_close();
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
    worker_close();
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
    worker_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drafts_change_no_token_alone_or_in_a_batch),
        cmocka_unit_test(a_context_that_was_sent_or_resumed_speculates_too),
        cmocka_unit_test(a_stop_token_ends_a_step_that_has_drafts_behind_it),
        cmocka_unit_test(drafts_stay_within_credit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
