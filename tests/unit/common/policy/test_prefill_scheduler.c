/* How a step is divided: order, packing, where chunks end, and the bound on waiting. */
#include "common/policy/prefill_scheduler.h"

#include <math.h>

#include "tests/support/test.h"

enum { MAX_CHUNKS = 8, BLOCK_TOKENS = 16 };

static struct baton_prefill_chunk chunks[MAX_CHUNKS];

static int plan(const struct baton_prefill_candidate *candidates, int n_candidates, int max_tokens,
                double tokens_per_s)
{
    const struct baton_prefill_limits limits = {.max_tokens = max_tokens,
                                                .max_chunks = MAX_CHUNKS,
                                                .block_tokens = BLOCK_TOKENS,
                                                .tokens_per_s = tokens_per_s};
    return baton_prefill_schedule(candidates, n_candidates, &limits, chunks);
}

static void assert_chunk(int i, int candidate, int n_tokens)
{
    assert_int_equal(chunks[i].candidate, candidate);
    assert_int_equal(chunks[i].n_tokens, n_tokens);
}

TEST(a_long_prompt_runs_in_chunks_of_whole_blocks)
{
    const struct baton_prefill_candidate candidate = {.n_remaining = 100};
    assert_int_equal(plan(&candidate, 1, 64, 0), 1);
    assert_chunk(0, 0, 64);
    assert_int_equal(plan(&candidate, 1, 112, 0), 1);
    assert_chunk(0, 0, 100);
}

TEST(short_prompts_share_a_step_and_the_next_takes_what_is_left)
{
    const struct baton_prefill_candidate candidates[] = {
        {.n_remaining = 300}, {.n_remaining = 21}, {.n_remaining = 7}};
    assert_int_equal(plan(candidates, 3, 128, 0), 3);
    assert_chunk(0, 2, 7);
    assert_chunk(1, 1, 21);
    assert_chunk(2, 0, 96); /* of 100 rows left */
}

TEST(of_equals_the_first_in_the_list_goes_first)
{
    const struct baton_prefill_candidate candidates[] = {
        {.n_remaining = 64}, {.n_remaining = 64}, {.n_remaining = 64}};
    assert_int_equal(plan(candidates, 3, 128, 0), 2);
    assert_chunk(0, 0, 64);
    assert_chunk(1, 1, 64);
}

/* A remainder below a block is of use only to a prompt that ends in it. */
TEST(a_small_remainder_goes_to_a_prompt_that_fits)
{
    const struct baton_prefill_candidate candidates[] = {
        {.n_remaining = 20}, {.n_remaining = 90}, {.n_remaining = 9, .waited_s = -1}};
    assert_int_equal(plan(candidates, 2, 32, 0), 1);
    assert_chunk(0, 0, 20);
    assert_int_equal(plan(candidates, 3, 32, 1000), 2); /* the third has the last rank */
    assert_chunk(0, 0, 20);
    assert_chunk(1, 2, 9);
}

TEST(one_that_must_be_alone_is_alone_and_waits_its_turn)
{
    const struct baton_prefill_candidate last[] = {
        {.n_remaining = 40, .alone = true}, {.n_remaining = 30}, {.n_remaining = 50}};
    assert_int_equal(plan(last, 3, 128, 0), 2);
    assert_chunk(0, 1, 30);
    assert_chunk(1, 2, 50);
    const struct baton_prefill_candidate first[] = {
        {.n_remaining = 40, .alone = true}, {.n_remaining = 50}, {.n_remaining = 60}};
    assert_int_equal(plan(first, 3, 128, 0), 1);
    assert_chunk(0, 0, 40);
}

TEST(those_alone_and_the_others_take_turns)
{
    const struct baton_prefill_candidate candidates[] = {
        {.n_remaining = 1, .alone = true}, {.n_remaining = 50}, {.n_remaining = 60}};
    struct baton_prefill_limits limits = {
        .max_tokens = 128, .max_chunks = MAX_CHUNKS, .block_tokens = BLOCK_TOKENS};
    assert_int_equal(baton_prefill_schedule(candidates, 3, &limits, chunks), 1);
    assert_chunk(0, 0, 1);
    limits.others_turn = true;
    assert_int_equal(baton_prefill_schedule(candidates, 3, &limits, chunks), 2);
    assert_chunk(0, 1, 50);
    assert_int_equal(baton_prefill_schedule(candidates, 1, &limits, chunks),
                     1); /* there are no others */
    assert_chunk(0, 0, 1);
}

TEST(batch_goes_after_interactive_unless_it_is_its_turn)
{
    const struct baton_prefill_candidate candidates[] = {
        {.n_remaining = 10, .priority = BATON_PRIORITY_BATCH, .waited_s = 100},
        {.n_remaining = 50},
        {.n_remaining = 40, .priority = BATON_PRIORITY_BATCH}};
    struct baton_prefill_limits limits = {.max_tokens = 128,
                                          .max_chunks = MAX_CHUNKS,
                                          .block_tokens = BLOCK_TOKENS,
                                          .tokens_per_s = 1000};
    assert_int_equal(baton_prefill_schedule(candidates, 3, &limits, chunks), 3);
    assert_chunk(0, 1, 50);
    assert_chunk(1, 0, 10);
    assert_chunk(2, 2, 40);
    limits.first = BATON_PRIORITY_BATCH;
    assert_int_equal(baton_prefill_schedule(candidates, 3, &limits, chunks), 3);
    assert_chunk(0, 0, 10);
    assert_chunk(1, 2, 40);
    assert_chunk(2, 1, 50);
}

TEST(a_step_has_no_more_chunks_than_it_may)
{
    struct baton_prefill_candidate candidates[2 * MAX_CHUNKS];
    for (int i = 0; i < 2 * MAX_CHUNKS; i++)
        candidates[i] = (struct baton_prefill_candidate){.n_remaining = 1};
    assert_int_equal(plan(candidates, 2 * MAX_CHUNKS, 512, 0), MAX_CHUNKS);
}

TEST(waiting_counts_a_quarter_of_what_could_have_been_computed)
{
    struct baton_prefill_candidate candidates[] = {{.n_remaining = 512, .waited_s = 1.6},
                                                   {.n_remaining = 100}};
    (void)plan(candidates, 2, 64, 1000);
    assert_int_equal(chunks[0].candidate, 1); /* 112 against 100 */
    candidates[0].waited_s = 1.68;
    (void)plan(candidates, 2, 64, 1000);
    assert_int_equal(chunks[0].candidate, 0); /* 92 against 100 */
}

/* ---- the bound: a small machine that is given more than it can do ---- */

enum { MAX_PROMPTS = 4000, SHORT_TOKENS = 24, LONG_TOKENS = 512, STEP_TOKENS = 64 };

struct machine {
    struct baton_prefill_candidate candidates[MAX_PROMPTS]; /* those not finished */
    int ids[MAX_PROMPTS], n_candidates, n_born;
    double born_s[MAX_PROMPTS], finished_s[MAX_PROMPTS], now_s, rate;
};

static void submit(struct machine *machine, int n_tokens)
{
    machine->born_s[machine->n_born] = machine->now_s;
    machine->ids[machine->n_candidates] = machine->n_born++;
    machine->candidates[machine->n_candidates++] =
        (struct baton_prefill_candidate){.n_remaining = n_tokens};
}

static void forget_finished(struct machine *machine)
{
    int n_kept = 0;
    for (int i = 0; i < machine->n_candidates; i++) {
        if (machine->candidates[i].n_remaining) {
            machine->ids[n_kept] = machine->ids[i];
            machine->candidates[n_kept++] = machine->candidates[i];
        } else {
            machine->finished_s[machine->ids[i]] = machine->now_s;
        }
    }
    machine->n_candidates = n_kept;
}

static void run_step(struct machine *machine)
{
    int n_rows = 0;
    for (int i = 0; i < machine->n_candidates; i++)
        machine->candidates[i].waited_s = machine->now_s - machine->born_s[machine->ids[i]];
    int n = plan(machine->candidates, machine->n_candidates, STEP_TOKENS, machine->rate);
    for (int i = 0; i < n; i++) {
        machine->candidates[chunks[i].candidate].n_remaining -= chunks[i].n_tokens;
        n_rows += chunks[i].n_tokens;
    }
    machine->now_s += n_rows / machine->rate;
    forget_finished(machine);
}

/* Short prompts come at half again the rate at which they can be run, for ever. What comes after
 * the long one has waited four times as long as it takes to compute must not finish before it; and
 * so it is done when it and what came in that time are. */
TEST(a_long_prompt_is_not_starved_by_short_ones)
{
    static struct machine machine;
    const double rate = 1000, overload = 1.5, own_s = LONG_TOKENS / rate;
    machine = (struct machine){.rate = rate};
    submit(&machine, LONG_TOKENS);
    for (double next_s = 0; machine.finished_s[0] == 0;) {
        for (; next_s <= machine.now_s; next_s += SHORT_TOKENS / (overload * rate))
            submit(&machine, SHORT_TOKENS);
        run_step(&machine);
        assert_true(machine.n_born < MAX_PROMPTS / 2);
    }
    double bound_s = own_s + overload * 4 * own_s + 2 * STEP_TOKENS / rate;
    assert_true(machine.finished_s[0] <= bound_s);
    assert_true(machine.finished_s[0] > 2 * own_s); /* short ones did go first */
    for (int i = 1; i < machine.n_born; i++)
        if (machine.finished_s[i] > 0 && machine.finished_s[i] < machine.finished_s[0])
            assert_true(machine.born_s[i] <= 4 * own_s);
}

TEST(everything_that_is_planned_is_computed_once)
{
    static struct machine machine;
    int n_tokens = 0;
    machine = (struct machine){.rate = 500};
    for (int i = 0; i < 100; i++) {
        submit(&machine, 1 + i * 37 % 200);
        n_tokens += 1 + i * 37 % 200;
    }
    while (machine.n_candidates)
        run_step(&machine);
    assert_true(fabs(machine.now_s - n_tokens / 500.0) < 1e-6);
}
