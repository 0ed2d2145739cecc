/* The order in which the engine thread runs prompts. The rule itself: test_prefill_scheduler.c. */
#include "tests/support/test.h"

#include "common/base/clock.h"
#include "engine/kv/pool.h"
#include "prefill_worker/scheduler.h"

enum { N_JOBS = 5 };

static const struct baton_spec spec = {.n_layers = 1,
                                       .layers = {{.n_kv_heads = 1, .head_dim = 4, .kv_from = 0}}};
static const struct baton_kv_layout layout = {.spec = &spec, .auto_dtype = "f32"};

static struct baton_kv *kv;
static struct pf_scheduler scheduler;
static struct pf_job jobs[N_JOBS];

SETUP(set_up)
{
    assert_ok(baton_kv_create_of(
        layout, &(struct baton_kv_pool_options){.dtype = "f32", .n_blocks = 1}, &kv, NULL));
}

TEARDOWN(tear_down)
{
    baton_kv_destroy(kv);
}

static void add(int i, int n_prompt)
{
    jobs[i] = (struct pf_job){.n_prompt = n_prompt, .runnable_ns = BATON_SECOND, .seq.kv = kv};
    pf_scheduler_add(&scheduler, &jobs[i]);
}

static bool fill(void)
{
    return pf_scheduler_fill(&scheduler, BATON_SECOND, 0);
}

TEST(without_jobs_there_is_no_step)
{
    pf_scheduler_init(&scheduler, 64, false);
    assert_false(fill());
    assert_null(pf_scheduler_take_done(&scheduler));
}

TEST(a_step_holds_whole_blocks_at_most)
{
    pf_scheduler_init(&scheduler, 100, false);
    assert_int_equal(scheduler.limits.max_tokens, 96);
    add(0, 1000);
    assert_true(fill());
    assert_int_equal(scheduler.step.n_chunks, 1);
    assert_int_equal(scheduler.step.chunks[0].n_tokens, 96);
}

TEST(the_shortest_remaining_prompt_goes_first_and_the_next_one_fills_the_step)
{
    pf_scheduler_init(&scheduler, 64, false);
    add(0, 200);
    add(1, 24);
    jobs[0].seq.n_tokens = 160; /* 40 remain */
    assert_true(fill());
    assert_int_equal(scheduler.step.n_chunks, 2);
    assert_ptr_equal(scheduler.step.chunks[0].job, &jobs[1]);
    assert_int_equal(scheduler.step.chunks[0].n_tokens, 24);
    assert_ptr_equal(scheduler.step.chunks[1].job, &jobs[0]);
    assert_int_equal(scheduler.step.chunks[1].n_tokens, 40);
}

TEST(naive_jobs_and_prompt_logprobs_run_alone_and_take_turns_with_the_others)
{
    int n_alone = 0, n_others = 0;
    pf_scheduler_init(&scheduler, 64, false);
    add(0, 300);
    add(1, 300);
    add(2, 300);
    jobs[0].naive = true;
    jobs[1].prompt_logprobs = true;
    for (int i = 0; i < 10; i++) {
        assert_true(fill());
        bool alone = scheduler.step.chunks[0].job != &jobs[2];
        assert_true(!alone || scheduler.step.n_chunks == 1);
        n_alone += alone;
        n_others += !alone;
    }
    assert_int_equal(n_alone, n_others);
}

TEST(batch_prompts_have_one_step_in_eight_while_others_wait)
{
    pf_scheduler_init(&scheduler, 64, false);
    add(0, 1000);
    add(1, 1000);
    jobs[0].priority = BATON_PRIORITY_BATCH;
    for (int i = 0; i < 24; i++) {
        assert_true(fill());
        assert_ptr_equal(scheduler.step.chunks[0].job, &jobs[i % 8 != 7]);
    }
}

TEST(jobs_that_are_done_or_canceled_leave_and_the_others_keep_their_order)
{
    pf_scheduler_init(&scheduler, 64, false);
    for (int i = 0; i < N_JOBS; i++)
        add(i, 100);
    jobs[1].done = true;
    atomic_store(&jobs[3].canceled, true);
    jobs[4].begun_ns = 7;
    assert_int_equal(pf_scheduler_count_begun(&scheduler), 1);
    assert_ptr_equal(pf_scheduler_take_done(&scheduler), &jobs[1]);
    assert_ptr_equal(pf_scheduler_take_done(&scheduler), &jobs[3]);
    assert_null(pf_scheduler_take_done(&scheduler));
    assert_int_equal(scheduler.n_held, 3);
    assert_ptr_equal(scheduler.held[0], &jobs[0]);
    assert_ptr_equal(scheduler.held[1], &jobs[2]);
    assert_ptr_equal(scheduler.held[2], &jobs[4]);
}

EACH_TEST(set_up, tear_down)
