#include "tests/support/test.h"

#include <string.h>

#include "decode_worker/draft_model.h"
#include "decode_worker/scheduler.h"
#include "engine/kv/pool.h"
#include "tests/support/random_gpt2.h"
#include "worker/pace.h"

enum { N = 6, MAX_BATCH = 3, CHUNK = 10 };

static const struct baton_spec spec = {.n_layers = 1,
                                       .layers = {{.n_kv_heads = 1, .head_dim = 4, .kv_from = 0}}};
static const struct baton_kv_layout layout = {.spec = &spec, .auto_dtype = "f32"};

static struct baton_kv *kv;
static struct dc_scheduler scheduler;
static struct dc_context contexts[N];
static uint32_t tokens[4 * DC_ALONE_TOKENS];

SETUP(set_up)
{
    memset(contexts, 0, sizeof contexts);
    assert_ok(baton_kv_create_of(
        layout, &(struct baton_kv_pool_options){.dtype = "f32", .n_blocks = 1}, &kv, NULL));
    assert_ok(dc_scheduler_init(&scheduler, MAX_BATCH, CHUNK));
}

TEARDOWN(tear_down)
{
    dc_scheduler_fini(&scheduler);
    baton_kv_destroy(kv);
}

static void add_sequence(int i, uint64_t credit)
{
    contexts[i].state = DC_RUNNING;
    atomic_store(&contexts[i].credit_end, credit);
    dc_scheduler_add(&scheduler, &contexts[i]);
}

static void add_prompt(int i, int n_prompt, int n_done)
{
    contexts[i].state = DC_PREFILLING;
    contexts[i].n_prompt = n_prompt;
    contexts[i].prompt.tokens = tokens;
    contexts[i].seq.n_tokens = n_done;
    contexts[i].seq.kv = kv;
    dc_scheduler_add(&scheduler, &contexts[i]);
}

/* "021" for contexts 0, 2 and 1, in this order. */
static void assert_step(const char *expected)
{
    const struct dc_step *step = &scheduler.step;
    assert_int_equal(step->n_chunks, strlen(expected));
    for (int i = 0; i < step->n_chunks; i++) {
        assert_ptr_equal(step->contexts[i], &contexts[expected[i] - '0']);
        assert_ptr_equal(step->chunks[i].seq, &step->contexts[i]->seq);
        assert_int_equal(step->chunks[i].n_logits, i < step->n_logits);
        assert_int_equal(step->first_logits[i], i < step->n_logits ? i : step->n_logits);
    }
}

TEST(the_first_to_arrive_have_the_slots)
{
    for (int i = 0; i < 5; i++)
        add_sequence(i, 9);
    assert_int_equal(dc_scheduler_fill(&scheduler, 1), 0);
    assert_step("012");
    dc_scheduler_remove(&scheduler, &contexts[1]);
    (void)dc_scheduler_fill(&scheduler, 1);
    assert_step("023");
}

TEST(a_paused_sequence_frees_its_slot_and_keeps_its_rank)
{
    for (int i = 0; i < 5; i++)
        add_sequence(i, 9);
    contexts[0].n_output = 9;
    (void)dc_scheduler_fill(&scheduler, 1);
    assert_step("123");
    atomic_store(&contexts[0].credit_end, 10);
    (void)dc_scheduler_fill(&scheduler, 1);
    assert_step("012");
}

TEST(a_held_sequence_is_looked_at_again_in_time)
{
    add_sequence(0, 9);
    add_sequence(1, 9);
    contexts[0].held_until_ns = 300;
    contexts[1].held_until_ns = 200;
    assert_int_equal(dc_scheduler_fill(&scheduler, 100), 200);
    assert_step("");
    assert_int_equal(dc_scheduler_fill(&scheduler, 200), 0);
    assert_step("1");
    assert_int_equal(dc_scheduler_fill(&scheduler, 300), 0);
    assert_step("01");
}

TEST(without_credit_there_is_no_time_to_wait_for)
{
    add_sequence(0, 0);
    assert_int_equal(dc_scheduler_fill(&scheduler, 100), 0);
    assert_step("");
}

static void add_batch_sequence(int i)
{
    contexts[i].priority = BATON_PRIORITY_BATCH;
    add_sequence(i, 99);
}

/* Batch is guaranteed one of three slots in three of eight steps, the 3rd, 6th and 8th, and gets
 * the slots that interactive sequences leave. */
TEST(interactive_sequences_take_slots_of_batch_but_for_its_eighth)
{
    const char *const steps[] = {"234", "234", "023", "234", "234", "023", "234", "023"};
    add_batch_sequence(0);
    add_batch_sequence(1);
    for (int i = 2; i < 5; i++)
        add_sequence(i, 99);
    for (int i = 0; i < 16; i++) {
        (void)dc_scheduler_fill(&scheduler, 1);
        assert_step(steps[i % 8]);
    }
    dc_scheduler_remove(&scheduler, &contexts[3]);
    dc_scheduler_remove(&scheduler, &contexts[4]);
    (void)dc_scheduler_fill(&scheduler, 1);
    assert_step("201");
}

TEST(prompts_of_batch_run_after_the_others_but_in_every_eighth_step)
{
    contexts[0].priority = BATON_PRIORITY_BATCH;
    add_prompt(0, 1000, 0);
    add_prompt(1, 4000, 0);
    for (int i = 0; i < 16; i++) {
        (void)dc_scheduler_fill(&scheduler, 1);
        assert_int_equal(scheduler.step.n_chunks, 1);
        assert_ptr_equal(scheduler.step.contexts[0], &contexts[i % 8 == 7 ? 0 : 1]);
    }
}

TEST(prompts_share_what_a_step_gives_them)
{
    add_sequence(0, 9);
    add_prompt(1, 4, 0);
    add_prompt(2, 20, 3);
    add_prompt(3, 5, 0);
    (void)dc_scheduler_fill(&scheduler, 1);
    assert_step("012");
    assert_int_equal(scheduler.step.n_sequences, 1);
    assert_int_equal(scheduler.step.n_logits, 2); /* prompt 2 has more to come */
    assert_int_equal(scheduler.step.chunks[1].n_tokens, 4);
    assert_int_equal(scheduler.step.chunks[2].n_tokens, 6);
    assert_ptr_equal(scheduler.step.chunks[2].tokens, tokens + 3);
}

TEST(a_prompt_alone_has_a_step_to_itself)
{
    add_prompt(0, DC_ALONE_TOKENS + 7, 0);
    (void)dc_scheduler_fill(&scheduler, 1);
    assert_step("0");
    assert_int_equal(scheduler.step.chunks[0].n_tokens, DC_ALONE_TOKENS);
    contexts[0].seq.n_tokens = DC_ALONE_TOKENS;
    add_sequence(1, 9);
    (void)dc_scheduler_fill(&scheduler, 1);
    assert_step("10");
    assert_int_equal(scheduler.step.chunks[1].n_tokens, 7);
}

TEST(a_step_is_never_larger_than_its_engine)
{
    for (int i = 0; i < 3; i++)
        add_sequence(i, 9);
    add_prompt(3, 1000, 0);
    (void)dc_scheduler_fill(&scheduler, 1);
    assert_int_equal(scheduler.step.chunks[3].n_tokens, CHUNK);
    assert_true(3 + CHUNK <= dc_scheduler_max_rows(MAX_BATCH, CHUNK));
    assert_int_equal(dc_scheduler_max_rows(MAX_BATCH, 1000), MAX_BATCH + DC_STEP_DRAFTS + 1000);
}

/* A sequence whose text is one token again and again. */
static void add_speculating(int i, uint64_t credit, uint64_t n_output_max)
{
    uint32_t text[] = {7, 7, 7};
    Baton__V1__Speculation wanted = BATON__V1__SPECULATION__INIT;
    Baton__V1__DecodeStart start = BATON__V1__DECODE_START__INIT;
    wanted.max_tokens = 8;
    start.speculation = &wanted;
    start.prompt = text;
    start.n_prompt = 3;
    start.first_token = 7;
    start.max_new_tokens = 50;
    assert_ok(dc_speculation_init(&contexts[i].speculation, &start, NULL));
    contexts[i].n_output_max = n_output_max;
    add_sequence(i, credit);
}

TEST(drafts_join_a_step_as_far_as_credit_and_output_go)
{
    const int n_tokens[] = {9, 5, 3, 10}, first[] = {0, 9, 14, 17};
    add_speculating(0, 90, 50);
    add_speculating(1, 5, 50);
    add_speculating(2, 90, 3);
    add_prompt(3, 1000, 0);
    (void)dc_scheduler_fill(&scheduler, 1);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(scheduler.step.chunks[i].n_tokens, n_tokens[i]);
        assert_int_equal(scheduler.step.first_logits[i], first[i]);
    }
    assert_int_equal(scheduler.step.n_logits, 17);
    scheduler.base_s = scheduler.row_s = 1; /* three rows take three fourths of a step */
    (void)dc_scheduler_fill(&scheduler, 1);
    assert_int_equal(scheduler.step.n_logits, 3);
    for (int i = 0; i < 3; i++)
        dc_speculation_fini(&contexts[i].speculation);
}

/* ---- sequences with a draft model ---- */

static struct dc_draft_model draft;

static void open_draft(void)
{
    const struct baton_gpt2_sizes sizes = {SMALL_GPT2, .n_layers = 1, .n_vocab = 50,
                                           .n_context = 512};
    assert_ok(random_gpt2(&sizes, 1, NULL, &draft.model));
    draft.n_vocab = sizes.n_vocab;
    draft.n_context = sizes.n_context;
    assert_ok(dc_draft_model_reserve(&draft, "f32", 64, &(struct baton_kv_options){0}, NULL));
}

static void add_with_model(int i, uint32_t n_new)
{
    uint32_t text[] = {7, 7, 7};
    Baton__V1__Speculation wanted = BATON__V1__SPECULATION__INIT;
    Baton__V1__DecodeStart start = BATON__V1__DECODE_START__INIT;
    wanted.mode = BATON__V1__SPECULATION__MODE__DRAFT_MODEL;
    wanted.max_tokens = 8;
    start.speculation = &wanted;
    start.prompt = text;
    start.n_prompt = 3;
    start.first_token = 7;
    start.max_new_tokens = n_new;
    assert_ok(dc_speculation_init(&contexts[i].speculation, &start, &draft));
    assert_true(contexts[i].speculation.has_model);
    contexts[i].n_output_max = n_new;
    add_sequence(i, n_new);
}

static void close_draft(int n_sequences)
{
    for (int i = 0; i < n_sequences; i++)
        dc_speculation_fini(&contexts[i].speculation);
    assert_int_equal(baton_kv_n_free(draft.kv), baton_kv_n_blocks(draft.kv));
    dc_draft_model_close(&draft);
}

/* Fills steps whose drafts all fall. Returns how many had one, at most one each. */
static int count_tries(int n_steps)
{
    int n_tries = 0, last = 0;
    for (int step = 1; step <= n_steps; step++) {
        (void)dc_scheduler_fill(&scheduler, 1);
        assert_true(scheduler.step.n_logits <= scheduler.step.n_sequences + 1);
        for (int i = 0; i < scheduler.step.n_sequences; i++) {
            struct dc_speculation *speculation = &contexts[i].speculation;
            const uint32_t made = 8;
            if (!speculation->n_drafts)
                continue;
            assert_true(!last || step - last >= 32);
            last = step;
            n_tries++;
            dc_speculation_note(speculation, &made, 1, NULL);
        }
    }
    return n_tries;
}

/* How many tries three sequences make in 3000 steps by such a draft model, all of them in vain. */
static int count_tries_of_three(struct dc_draft_state state)
{
    open_draft();
    for (int i = 0; i < 3; i++)
        add_with_model(i, 200);
    scheduler.base_s = 10;
    scheduler.row_s = 1;
    scheduler.draft = state;
    int n_tries = count_tries(3000);
    close_draft(3);
    return n_tries;
}

TEST(drafts_that_do_not_pay_are_tried_by_one_sequence_at_a_time)
{
    struct dc_draft_state state = {.base_s = 3, .row_s = 0.1, .p = 0.01};
    int n_tries = count_tries_of_three(state);
    assert_true(n_tries >= 3 * 5 && n_tries <= 3 * 10); /* each waits twice as long as before */
}

TEST(drafts_that_cost_more_than_a_token_are_never_tried)
{
    struct dc_draft_state state = {.base_s = 9, .row_s = 1, .p = 1};
    assert_int_equal(count_tries_of_three(state), 0);
}

/* Beside others a sequence's prompt is computed by and by, and drafts come after it. */
TEST(a_draft_model_catches_up_in_parts)
{
    static uint32_t words[200];
    Baton__V1__Speculation wanted = BATON__V1__SPECULATION__INIT;
    Baton__V1__DecodeStart start = BATON__V1__DECODE_START__INIT;
    open_draft();
    add_with_model(0, 50);
    wanted.mode = BATON__V1__SPECULATION__MODE__DRAFT_MODEL;
    wanted.max_tokens = 8;
    start.speculation = &wanted;
    start.prompt = words;
    start.n_prompt = 200;
    start.max_new_tokens = 50;
    assert_ok(dc_speculation_init(&contexts[1].speculation, &start, &draft));
    contexts[1].n_output_max = 50;
    add_sequence(1, 50);
    int n_fed = 0, n_steps = 0;
    do {
        (void)dc_scheduler_fill(&scheduler, 1);
        for (int i = 0; i < 2; i++)
            contexts[i].speculation.draft.n_tokens += contexts[i].speculation.n_fed;
        assert_true(contexts[1].speculation.n_fed <= DC_CATCH_UP);
        n_fed += contexts[1].speculation.n_fed;
        n_steps++;
    } while (!contexts[1].speculation.n_drafts);
    assert_int_equal(n_fed, 201);
    assert_int_equal(n_steps, 4);
    close_draft(2);
}

TEST(the_canceled_are_taken_out)
{
    add_sequence(0, 9);
    add_sequence(1, 0);
    add_prompt(2, 5, 0);
    atomic_store(&contexts[1].canceled, true);
    atomic_store(&contexts[2].canceled, true);
    assert_ptr_equal(dc_scheduler_take_leaver(&scheduler), &contexts[1]);
    assert_ptr_equal(dc_scheduler_take_leaver(&scheduler), &contexts[2]);
    assert_null(dc_scheduler_take_leaver(&scheduler));
    (void)dc_scheduler_fill(&scheduler, 1);
    assert_step("0");
}

TEST_ALONE(a_rate_is_that_of_the_last_seconds_of_work)
{
    struct baton_rate rate = {0};
    assert_true(baton_rate_per_s(&rate) == 0);
    baton_rate_add(&rate, 4, 0.01);
    assert_float_equal(baton_rate_per_s(&rate), 400, 1e-9);
    for (int i = 0; i < 2000; i++)
        baton_rate_add(&rate, 1, 0.01);
    assert_float_equal(baton_rate_per_s(&rate), 100, 0.1);
    baton_rate_add(&rate, 50, 10); /* longer than what is remembered */
    assert_float_equal(baton_rate_per_s(&rate), 5, 1e-9);
}

EACH_TEST(set_up, tear_down)
