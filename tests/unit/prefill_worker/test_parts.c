/* A part of a prompt, with a gateway that contradicts itself and other parts that go away. */
#include "tests/support/test.h"

#include "common/base/log.h"
#include "tests/support/worker_aborts.h"
#include "tests/unit/prefill_worker/fixture.h"

#include "common/base/array.h"

/* Four stripes: the worker, part 1, computes the prompt's end. */
enum { N_PROMPT = 4 * STRIPE_BLOCKS * BATON_KV_BLOCK_TOKENS };

static const struct worker_options with_bulk = {.has_bulk = true, .path = BATON_KV_PATH_WIRE};

static struct request_params in_parts(uint64_t id)
{
    return (struct request_params){
        .id = id, .n_prompt = N_PROMPT, .n_new = 9, .words = id, .in_parts = true};
}

static struct request_params reserve(uint64_t id)
{
    const struct request_params params = in_parts(id);
    say_prompt(&params);
    await(&heard[id].n_reserved, 1);
    return params;
}

TEST(a_worker_where_no_part_can_arrive_rejects)
{
    const struct request_params params = in_parts(1);
    worker_open(&(struct worker_options){0});
    say_prompt(&params);
    await(&heard[1].n_rejected, 1);
    await_idle();
    assert_int_equal(heard[1].n_reserved, 0);
}

/* ---- no blocks ---- */

/* Blocks for one prompt, and half of another. */
static const struct worker_options with_little = {
    .has_bulk = true, .path = BATON_KV_PATH_WIRE, .kv_tokens = N_PROMPT + N_PROMPT / 2};

TEST(a_part_without_blocks_is_rejected_and_the_prompt_can_be_asked_for_again_at_once)
{
    worker_open(&with_little);
    const struct request_params first = reserve(1);
    struct request_params second = in_parts(2);
    say_prompt(&second);
    await(&heard[2].n_rejected, 1);
    assert_int_equal(heard[2].n_reserved, 0);
    second.in_parts = false; /* under the same number: it waits for blocks */
    say_prompt(&second);
    say_parts_start(&first, NULL);
    send_part(&first, 0, STRIPE_BLOCKS);
    await(&heard[2].n_first, 1);
    assert_int_equal(heard[1].n_first, 1);
}

/* It would fit, but it would overtake, and it must not wait while others hold their blocks. */
TEST(a_part_behind_a_prompt_that_waits_for_blocks_is_rejected)
{
    worker_open(&with_little);
    const struct request_params first = reserve(1);
    const struct request_params waits = {.id = 2, .n_prompt = N_PROMPT, .n_new = 9, .words = 2};
    struct request_params small = in_parts(3);
    small.n_prompt = N_PROMPT / 4;
    say_prompt(&waits);
    say_prompt(&small);
    await(&heard[3].n_rejected, 1);
    assert_int_equal(heard[3].n_reserved, 0);
    assert_int_equal(heard[2].n_first, 0);
    say_cancel(&first);
    await(&heard[2].n_first, 1);
}

/* ---- starts that contradict the prompt ---- */

static void begin_elsewhere(Baton__V1__PartsStart *start)
{
    start->parts[1]->first_block = 1;
}

static void begin_behind_the_others(Baton__V1__PartsStart *start)
{
    start->parts[0]->first_block = 1;
}

static void begin_behind_the_holder(Baton__V1__PartsStart *start)
{
    start->first_block = 1;
}

static void begin_behind_the_prompt(Baton__V1__PartsStart *start)
{
    start->first_block = start->parts[0]->first_block = N_PROMPT / BATON_KV_BLOCK_TOKENS;
}

static void leave_one_idle(Baton__V1__PartsStart *start)
{
    start->stripe_blocks = N_PROMPT / BATON_KV_BLOCK_TOKENS;
}

static void make_stripes_too_long(Baton__V1__PartsStart *start)
{
    start->stripe_blocks = 1 << 20;
}

TEST(a_start_that_contradicts_the_prompt_fails_it_and_frees_its_blocks)
{
    void (*const lies[])(Baton__V1__PartsStart * start) = {
        begin_elsewhere,         begin_behind_the_others, begin_behind_the_holder,
        begin_behind_the_prompt, leave_one_idle,          make_stripes_too_long};
    worker_open(&with_bulk);
    for (uint64_t id = 1; id <= BATON_N_OF(lies); id++) {
        const struct request_params params = reserve(id);
        say_parts_start(&params, lies[id - 1]);
        await(&heard[id].n_failed, 1);
        assert_int_equal(heard[id].failure, BATON__V1__FAILED__CODE__INTERNAL);
        await_idle();
    }
}

/* ---- begins ---- */

/* Greeted, the KvBegin was taken out of the inbox. */
static void send_early(const struct request_params *params)
{
    open_part(params, 0, 1, STRIPE_BLOCKS);
    part_computed_all(params);
    await(&heard[params->id].n_acks, 1);
}

TEST(blocks_that_come_before_the_start_wait_for_it)
{
    worker_open(&with_bulk);
    const struct request_params params = reserve(1);
    send_early(&params);
    say_parts_start(&params, NULL);
    await(&heard[1].n_first, 1);
    await_idle();
}

TEST(blocks_that_wait_for_a_canceled_prompt_hold_back_no_other)
{
    worker_open(&with_bulk);
    const struct request_params first = reserve(1), second = reserve(2);
    say_parts_start(&second, NULL);
    send_early(&first);
    open_part(&second, 0, 1, STRIPE_BLOCKS); /* over the same link */
    part_computed_all(&second);
    say_cancel(&first);
    await(&heard[2].n_first, 1);
    assert_int_equal(heard[1].n_first, 0);
}

/* ---- two at once ---- */

static void compute_the_first_part(Baton__V1__PartsStart *start)
{
    Baton__V1__DeliverTo *other = start->parts[0];
    start->parts[0] = start->parts[1];
    start->parts[1] = other;
    start->part = 0;
}

/* The other worker goes on with the first prompt only when it has computed the second one's end,
 * for which it wants blocks from here. But here a step of the first prompt waits for it. */
TEST(a_step_that_waits_gives_way_to_a_prompt_that_its_other_worker_wants)
{
    enum { HELD = 2 }; /* layers with K and V */
    worker_open(&with_bulk);
    struct request_params alone = in_parts(3);
    alone.words = 1; /* the first prompt, undisturbed */
    say_prompt(&alone);
    await(&heard[3].n_reserved, 1);
    say_parts_start(&alone, NULL);
    send_part(&alone, 0, STRIPE_BLOCKS);

    const struct request_params first = reserve(1), second = reserve(2);
    open_part(&first, 0, 1, STRIPE_BLOCKS);
    open_part(&second, 1, 0, STRIPE_BLOCKS);
    expect_part(&first);
    expect_part(&second);
    say_parts_start(&first, NULL);
    part_computed(&first, (struct baton_kv_progress){.n_end = STRIPE_BLOCKS, .n_layers = 1});
    await_blocks(&first, HELD - 1, 2 * STRIPE_BLOCKS); /* its step waits in that layer */

    say_parts_start(&second, compute_the_first_part);
    await_blocks(&second, HELD - 1, STRIPE_BLOCKS);
    part_computed_all(&second);
    await(&n_received, 2); /* the second one's, and the stripe that the step began with */
    assert_int_equal(heard[1].n_first, 0);

    part_computed_all(&first);
    await(&heard[1].n_first, 1);
    assert_int_equal(heard[1].first_token, heard[3].first_token);
    await_idle();
}

/* ---- ends ---- */

/* The gateway told the other part to stop when the token came: it acknowledges nothing. */
TEST(the_last_part_waits_for_no_acknowledgement_after_its_token)
{
    worker_open(&with_bulk);
    const struct request_params params = reserve(1);
    say_parts_start(&params, NULL);
    send_part(&params, 0, STRIPE_BLOCKS);
    await_idle();
    assert_int_equal(heard[1].n_first, 1);
}

static void double_stripes(Baton__V1__PartsStart *start)
{
    start->stripe_blocks = 2 * STRIPE_BLOCKS;
}

TEST(a_last_stripe_of_several_steps_is_computed_to_its_end)
{
    worker_open(&with_bulk);
    const struct request_params params = reserve(1);
    say_parts_start(&params, double_stripes);
    send_part(&params, 0, 2 * STRIPE_BLOCKS);
    await_idle();
    assert_int_equal(heard[1].n_first, 1);
}

/* The worker's own blocks, or stripes of another length. */
TEST(blocks_that_are_not_the_senders_fail_the_prompt)
{
    worker_open(&with_bulk);
    for (uint64_t id = 1; id <= 2; id++) {
        const struct request_params params = reserve(id);
        say_parts_start(&params, NULL);
        send_part(&params, id == 1 ? 1 : 0, id == 1 ? STRIPE_BLOCKS : 1);
        await_idle();
        assert_int_equal(heard[id].n_first, 0);
        assert_int_equal(heard[id].failure, BATON__V1__FAILED__CODE__CONTEXT_LOST);
    }
}

/* Stripes may be shorter than steps. */
static void halve_stripes(Baton__V1__PartsStart *start)
{
    start->stripe_blocks = STRIPE_BLOCKS / 2;
}

TEST(a_part_that_is_canceled_at_any_moment_frees_its_blocks)
{
    worker_open(&with_bulk);
    for (int i = 0; i < 300; i++) {
        struct request_params params = reserve(1);
        int stage = i % 3;
        if (stage)
            say_parts_start(&params, stage == 1 ? NULL : halve_stripes);
        for (int turn = draw(8); turn > 0; turn--)
            work_now();
        say_cancel(&params);
        await_idle();
        heard[1] = (struct heard){0};
    }
}

EACH_TEST(NULL, worker_end)
