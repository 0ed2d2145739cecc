#include "tests/support/test.h"
#include "tests/unit/tools/plan/costs.h"
#include "tools/plan/calibrate/fit.h"
#include "tools/plan/costs/costs.h"

TEST(a_curve_goes_straight_between_points_and_on_above_the_last)
{
    const struct sim_curve curve = {.n = 3, .at = {16, 32, 64}, .s = {2, 3, 7}};
    assert_near(sim_curve_at(&curve, 1), 2, 1e-12);
    assert_near(sim_curve_at(&curve, 16), 2, 1e-12);
    assert_near(sim_curve_at(&curve, 24), 2.5, 1e-12);
    assert_near(sim_curve_at(&curve, 48), 5, 1e-12);
    assert_near(sim_curve_at(&curve, 128), 15, 1e-12);
}

TEST(between_measured_cores_time_goes_by_their_inverse)
{
    struct sim_costs costs = constant_costs(8, 8);
    const struct sim_work work = {.n = 1, .factor = 1};
    costs.n = 2;
    costs.cores[1] =
        (struct sim_core_costs){.n_cores = 4, .pass = constant_cost(2), .step = constant_cost(4)};
    assert_near(sim_pass_s(&costs, 1, &work), 8, 1e-12);
    assert_near(sim_pass_s(&costs, 2, &work), 4, 1e-12);
    assert_near(sim_pass_s(&costs, 4, &work), 2, 1e-12);
    assert_near(sim_pass_s(&costs, 16, &work), 2, 1e-12);
    assert_near(sim_step_s(&costs, 4, &work), 4, 1e-12);
}

TEST(a_spread_gives_back_the_quantiles_it_was_made_of)
{
    enum { N = 100001 };
    static double drawn[N];
    double values[] = {0, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2};
    struct sim_spread spread = sim_spread_of(values, 11), again;
    assert_near(spread.factor[3], 1, 1e-6);
    assert_near(spread.factor[8], 2, 1e-6);
    assert_near(spread.factor[0], 0, 1e-6);
    for (int i = 0; i < N; i++) {
        struct ld_rng rng = ld_rng(3, LD_STREAM_PASS, (uint64_t)i);
        drawn[i] = sim_spread_draw(&spread, &rng);
    }
    again = sim_spread_of(drawn, N);
    for (int i = 0; i < SIM_N_QUANTILES; i++)
        assert_near(again.factor[i], spread.factor[i], 0.02);
}

TEST(a_rare_long_time_does_not_make_all_others_longer)
{
    enum { N = 50000 };
    double values[500], sum = 0;
    for (int i = 0; i < 500; i++)
        values[i] = i ? 1 : 100;
    struct sim_spread spread = sim_spread_of(values, 500);
    for (int i = 0; i < N; i++) {
        struct ld_rng rng = ld_rng(3, LD_STREAM_STEP, (uint64_t)i);
        sum += sim_spread_draw(&spread, &rng);
    }
    assert_near(sum / N, 599.0 / 500, 0.03);
}

/* The measurements of a worker with these costs. */
static struct sim_measured measure(const struct sim_core_costs *costs,
                                   const struct sim_window *window, double before_s, double after_s,
                                   double handoff_s, double token_s)
{
    static const int lengths[] = {16, 64, 96, 128, 512}, batches[] = {1, 4, 16};
    struct sim_measured measured = {.chunk = 128, .window = *window, .n_prompts = 5, .n_steps = 3};
    for (int i = 0; i < 5; i++) {
        double n = lengths[i], n_passes = n > 128 ? n / 128 : 1;
        double step_s =
            sim_curve_at(&costs->step.curve, 1) + costs->step.position_s * sim_seen(window, n + 1);
        measured.prompts[i] = (struct sim_prompt_point){
            .n_tokens = n,
            .compute_s = n_passes * sim_curve_at(&costs->pass.curve, n / n_passes) +
                         costs->pass.position_s * sim_attended(window, 0, n),
            .before_s = before_s,
            .after_s = after_s,
            .second_s = handoff_s + token_s * n + step_s - after_s};
    }
    for (int i = 0; i < 3; i++)
        measured.steps[i] = (struct sim_step_point){
            .n = batches[i],
            .positions = 40,
            .step_s = sim_curve_at(&costs->step.curve, batches[i]) +
                      costs->step.position_s * batches[i] * sim_seen(window, 40)};
    measured.long_step = measured.steps[1];
    measured.long_step.positions = 500;
    measured.long_step.step_s +=
        costs->step.position_s * 4 * (sim_seen(window, 500) - sim_seen(window, 40));
    return measured;
}

static void assert_found(const struct sim_window *window)
{
    const struct sim_core_costs costs = {
        .pass = {.curve = {.n = 4, .at = {16, 64, 96, 128}, .s = {.01, .03, .04, .05}},
                 .position_s = 1e-7},
        .step = {.curve = {.n = 3, .at = {1, 4, 16}, .s = {.004, .005, .011}}, .position_s = 2e-7}};
    struct sim_measured measured = measure(&costs, window, 2e-4, 5e-4, 3e-3, 1e-5);
    struct sim_core_costs found = {0};
    struct sim_costs all = {0};
    sim_fit_costs(&measured, &found);
    sim_fit_ways(&measured, &found, &all);
    assert_near(found.pass.position_s, 1e-7, 1e-12);
    assert_near(found.step.position_s, 2e-7, 1e-12);
    assert_int_equal(found.pass.curve.n, 4);
    for (int i = 0; i < 4; i++)
        assert_near(found.pass.curve.s[i], costs.pass.curve.s[i], 1e-9);
    for (int i = 0; i < 3; i++)
        assert_near(found.step.curve.s[i], costs.step.curve.s[i], 1e-9);
    assert_near(all.before_s, 2e-4, 1e-12);
    assert_near(all.after_s, 5e-4, 1e-12);
    assert_near(all.handoff_s, 3e-3, 1e-9);
    assert_near(all.handoff_token_s, 1e-5, 1e-10);
}

TEST(fitting_finds_the_costs_that_were_measured)
{
    assert_found(&(struct sim_window){0});
    assert_found(&(struct sim_window){.n_tokens = 200, .share = 0.75});
}

TEST(rows_attend_to_no_more_than_the_window_in_its_layers)
{
    const struct sim_window none = {0}, half = {.n_tokens = 100, .share = 0.5};
    assert_near(sim_seen(&none, 300), 300, 1e-9);
    assert_near(sim_seen(&half, 80), 80, 1e-9);
    assert_near(sim_seen(&half, 300), (300 + 100) / 2.0, 1e-9);
    assert_near(sim_attended(&none, 50, 100), 100 * 100, 1e-9);
    /* 50 rows while the window fills, then 50 that see it whole. */
    assert_near(sim_attended(&half, 50, 100), (100 * 100 + 50 * 75 + 50 * 100) / 2.0, 1e-9);
    assert_near(sim_attended(&half, 400, 10), (10 * 405 + 10 * 100) / 2.0, 1e-9);
}
