/* How a pass is shared out: order, packing, where shares end, and the bound on waiting. */
#include "prefill_worker/plan_pass.h"

#include <math.h>

#include "tests/support/test.h"

enum { MAX_SHARES = 8 };

static struct pf_share shares[MAX_SHARES];

static int plan(const struct pf_load *loads, int n_loads, int chunk, double tokens_per_s)
{
    const struct pf_pass_limits limits = {
        .chunk = chunk, .max_shares = MAX_SHARES, .tokens_per_s = tokens_per_s};
    return pf_plan_pass(loads, n_loads, &limits, shares);
}

static void assert_share(int i, int load, int n_tokens)
{
    assert_int_equal(shares[i].load, load);
    assert_int_equal(shares[i].n_tokens, n_tokens);
}

TEST(a_long_prompt_runs_in_chunks_of_whole_blocks)
{
    const struct pf_load load = {.n_remaining = 100};
    assert_int_equal(plan(&load, 1, 64, 0), 1);
    assert_share(0, 0, 64);
    assert_int_equal(plan(&load, 1, 112, 0), 1);
    assert_share(0, 0, 100);
}

TEST(short_prompts_share_a_pass_and_the_next_takes_what_is_left)
{
    const struct pf_load loads[] = {{.n_remaining = 300}, {.n_remaining = 21}, {.n_remaining = 7}};
    assert_int_equal(plan(loads, 3, 128, 0), 3);
    assert_share(0, 2, 7);
    assert_share(1, 1, 21);
    assert_share(2, 0, 96); /* of 100 rows left */
}

TEST(of_equals_the_first_in_the_list_goes_first)
{
    const struct pf_load loads[] = {{.n_remaining = 64}, {.n_remaining = 64}, {.n_remaining = 64}};
    assert_int_equal(plan(loads, 3, 128, 0), 2);
    assert_share(0, 0, 64);
    assert_share(1, 1, 64);
}

/* A remainder below a block is of use only to a prompt that ends in it. */
TEST(a_small_remainder_goes_to_a_prompt_that_fits)
{
    const struct pf_load loads[] = {
        {.n_remaining = 20}, {.n_remaining = 90}, {.n_remaining = 9, .waited_s = -1}};
    assert_int_equal(plan(loads, 2, 32, 0), 1);
    assert_share(0, 0, 20);
    assert_int_equal(plan(loads, 3, 32, 1000), 2); /* the third has the last rank */
    assert_share(0, 0, 20);
    assert_share(1, 2, 9);
}

TEST(one_that_must_be_alone_is_alone_and_waits_its_turn)
{
    const struct pf_load last[] = {
        {.n_remaining = 40, .alone = true}, {.n_remaining = 30}, {.n_remaining = 50}};
    assert_int_equal(plan(last, 3, 128, 0), 2);
    assert_share(0, 1, 30);
    assert_share(1, 2, 50);
    const struct pf_load first[] = {
        {.n_remaining = 40, .alone = true}, {.n_remaining = 50}, {.n_remaining = 60}};
    assert_int_equal(plan(first, 3, 128, 0), 1);
    assert_share(0, 0, 40);
}

TEST(those_alone_and_the_others_take_turns)
{
    const struct pf_load loads[] = {
        {.n_remaining = 1, .alone = true}, {.n_remaining = 50}, {.n_remaining = 60}};
    struct pf_pass_limits limits = {.chunk = 128, .max_shares = MAX_SHARES};
    assert_int_equal(pf_plan_pass(loads, 3, &limits, shares), 1);
    assert_share(0, 0, 1);
    limits.others_turn = true;
    assert_int_equal(pf_plan_pass(loads, 3, &limits, shares), 2);
    assert_share(0, 1, 50);
    assert_int_equal(pf_plan_pass(loads, 1, &limits, shares), 1); /* there are no others */
    assert_share(0, 0, 1);
}

TEST(a_pass_has_no_more_shares_than_it_may)
{
    struct pf_load loads[2 * MAX_SHARES];
    for (int i = 0; i < 2 * MAX_SHARES; i++)
        loads[i] = (struct pf_load){.n_remaining = 1};
    assert_int_equal(plan(loads, 2 * MAX_SHARES, 512, 0), MAX_SHARES);
}

TEST(waiting_counts_a_quarter_of_what_could_have_been_computed)
{
    struct pf_load loads[] = {{.n_remaining = 512, .waited_s = 1.6}, {.n_remaining = 100}};
    (void)plan(loads, 2, 64, 1000);
    assert_int_equal(shares[0].load, 1); /* 112 against 100 */
    loads[0].waited_s = 1.68;
    (void)plan(loads, 2, 64, 1000);
    assert_int_equal(shares[0].load, 0); /* 92 against 100 */
}

/* ---- the bound: a small machine that is given more than it can do ---- */

enum { MAX_PROMPTS = 4000, SHORT_TOKENS = 24, LONG_TOKENS = 512, CHUNK = 64 };

struct machine {
    struct pf_load loads[MAX_PROMPTS]; /* those not finished */
    int ids[MAX_PROMPTS], n_loads, n_born;
    double born_s[MAX_PROMPTS], finished_s[MAX_PROMPTS], now_s, rate;
};

static void submit(struct machine *machine, int n_tokens)
{
    machine->born_s[machine->n_born] = machine->now_s;
    machine->ids[machine->n_loads] = machine->n_born++;
    machine->loads[machine->n_loads++] = (struct pf_load){.n_remaining = n_tokens};
}

static void forget_finished(struct machine *machine)
{
    int n_kept = 0;
    for (int i = 0; i < machine->n_loads; i++) {
        if (machine->loads[i].n_remaining) {
            machine->ids[n_kept] = machine->ids[i];
            machine->loads[n_kept++] = machine->loads[i];
        } else {
            machine->finished_s[machine->ids[i]] = machine->now_s;
        }
    }
    machine->n_loads = n_kept;
}

static void run_pass(struct machine *machine)
{
    int n_rows = 0;
    for (int i = 0; i < machine->n_loads; i++)
        machine->loads[i].waited_s = machine->now_s - machine->born_s[machine->ids[i]];
    int n = plan(machine->loads, machine->n_loads, CHUNK, machine->rate);
    for (int i = 0; i < n; i++) {
        machine->loads[shares[i].load].n_remaining -= shares[i].n_tokens;
        n_rows += shares[i].n_tokens;
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
        run_pass(&machine);
        assert_true(machine.n_born < MAX_PROMPTS / 2);
    }
    double bound_s = own_s + overload * 4 * own_s + 2 * CHUNK / rate;
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
    while (machine.n_loads)
        run_pass(&machine);
    assert_true(fabs(machine.now_s - n_tokens / 500.0) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_prompt_runs_in_chunks_of_whole_blocks),
        cmocka_unit_test(short_prompts_share_a_pass_and_the_next_takes_what_is_left),
        cmocka_unit_test(of_equals_the_first_in_the_list_goes_first),
        cmocka_unit_test(a_small_remainder_goes_to_a_prompt_that_fits),
        cmocka_unit_test(one_that_must_be_alone_is_alone_and_waits_its_turn),
        cmocka_unit_test(those_alone_and_the_others_take_turns),
        cmocka_unit_test(a_pass_has_no_more_shares_than_it_may),
        cmocka_unit_test(waiting_counts_a_quarter_of_what_could_have_been_computed),
        cmocka_unit_test(a_long_prompt_is_not_starved_by_short_ones),
        cmocka_unit_test(everything_that_is_planned_is_computed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
