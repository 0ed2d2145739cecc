#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernels/attend/kv_block.h"
#include "tests/support/test.h"
#include "tests/unit/tools/plan/costs.h"

static const struct sim_layout one_each = {1, 1};

static struct sim_results simulate(const struct sim_settings *settings, struct sim_layout layout)
{
    struct sim_results results;
    struct baton_why why = {""};
    assert_ok(sim_run(settings, &layout, &results, &why));
    return results;
}

static double p50_of(const struct sim_results *results, enum ld_time time)
{
    return results->figures.times[time].p50;
}

/* ---- one request at a time ---- */

TEST(a_request_alone_takes_the_sum_of_its_parts)
{
    struct sim_settings settings = roomy_settings(0.1, 0.01);
    settings.costs.before_s = 0.001;
    settings.costs.after_s = 0.002;
    settings.costs.handoff_s = 0.005;
    settings.costs.handoff_token_s = 0.0001;
    struct sim_results results = simulate(&settings, one_each);
    assert_near(p50_of(&results, LD_TIME_ttft), 0.103, 1e-6);
    assert_near(p50_of(&results, LD_TIME_itl), 0.01, 1e-6);
    /* Second token: 64 tokens sent, received, one step; the first one was told after 2 ms. */
    assert_near(p50_of(&results, LD_TIME_first_gap), 0.0064 + 0.005 + 0.01 - 0.002, 1e-6);
    assert_near(p50_of(&results, LD_TIME_e2el), 0.101 + 0.0114 + 7 * 0.01, 1e-6);
}

TEST(a_long_prompt_takes_its_steps_and_hides_its_hand_off)
{
    struct sim_settings settings = roomy_settings(0.1, 0.01);
    settings.load.workload.prompt = (struct ld_lengths){.min = 512, .max = 512};
    settings.costs.handoff_token_s = 0.0005; /* 64 ms a pass */
    settings.costs.n_layers = 4;
    struct sim_results results = simulate(&settings, one_each);
    assert_near(p50_of(&results, LD_TIME_ttft), 0.4, 1e-6);
    assert_near(p50_of(&results, LD_TIME_first_gap), 0.064 / 4 + 0.01, 1e-6);
    settings.overlap = BATON_OVERLAP_OFF;
    results = simulate(&settings, one_each);
    assert_near(p50_of(&results, LD_TIME_first_gap), 0.256 + 0.01, 1e-6);
}

TEST(a_slow_network_delays_the_second_token_only)
{
    struct sim_settings settings = roomy_settings(0.1, 0.01);
    settings.costs.kv_token_bytes = 1e6;
    settings.gbps = 8; /* 1 ms a token */
    struct sim_results results = simulate(&settings, one_each);
    assert_near(p50_of(&results, LD_TIME_ttft), 0.1, 1e-6);
    assert_near(p50_of(&results, LD_TIME_first_gap), 0.064 + 0.01, 1e-6);
}

TEST(a_state_follows_the_prompt_and_counts_as_many_tokens)
{
    struct sim_settings settings = roomy_settings(0.1, 0.01);
    settings.costs.kv_token_bytes = 1e6;
    settings.costs.state_bytes = 50e6;
    settings.costs.n_layers = 4;
    settings.gbps = 8; /* 1 ms a token */
    for (int overlap = 0; overlap < 2; overlap++) {
        settings.overlap = overlap ? BATON_OVERLAP_AUTO : BATON_OVERLAP_OFF;
        struct sim_results results = simulate(&settings, one_each);
        double first_gap_s = p50_of(&results, LD_TIME_first_gap);
        assert_true(first_gap_s > 0.050 + 0.01 && first_gap_s < 0.050 + 0.064 + 0.01 + 1e-6);
    }
}

TEST(one_token_needs_no_decode_worker)
{
    struct sim_settings settings = roomy_settings(0.1, 0.01);
    settings.load.workload.output = (struct ld_lengths){.min = 1, .max = 1};
    struct sim_results results = simulate(&settings, one_each);
    assert_int_equal(results.figures.n_by_outcome[LD_DONE], 100);
    assert_near(p50_of(&results, LD_TIME_e2el), 0.1, 1e-6);
    assert_near(results.decode_busy, 0, 1e-12);
}

TEST(a_gateway_carries_one_token_at_a_time)
{
    struct sim_settings settings = roomy_settings(1e-6, 1e-6);
    settings.gateway_token_s = 0.001;
    settings.load.concurrency = 64;
    settings.load.n_requests = 1000;
    struct sim_results results = simulate(&settings, one_each);
    assert_near(results.figures.output_per_s, 1000, 5);
    settings.n_gateways = 4;
    results = simulate(&settings, one_each);
    assert_near(results.figures.output_per_s, 4000, 40);
}

/* ---- cores ---- */

TEST(workers_of_one_core_take_turns)
{
    struct sim_settings settings = roomy_settings(0.1, 0.1);
    settings.load.workload.output = (struct ld_lengths){.min = 1, .max = 1};
    settings.load.concurrency = 2;
    settings.load.workload.prompt = (struct ld_lengths){.min = 128, .max = 128};
    settings.cores = SIM_CORES_ELASTIC;
    struct sim_results shared = simulate(&settings, (struct sim_layout){2, 1});
    settings.cores = SIM_CORES_OWN;
    struct sim_results own = simulate(&settings, (struct sim_layout){2, 1});
    assert_near(p50_of(&shared, LD_TIME_ttft), 0.2, 1e-6);
    assert_near(p50_of(&own, LD_TIME_ttft), 0.1, 1e-6);
}

TEST(idle_cores_are_lent)
{
    struct sim_settings settings = roomy_settings(0.1, 0.02);
    settings.costs.n = 2;
    settings.costs.cores[1] = (struct sim_core_costs){
        .n_cores = 2, .pass = constant_cost(0.05), .step = constant_cost(0.01)};
    settings.cores = SIM_CORES_ELASTIC;
    settings.n_cores = 2;
    struct sim_results alone = simulate(&settings, one_each);
    assert_near(p50_of(&alone, LD_TIME_ttft), 0.05, 1e-6);
    assert_near(p50_of(&alone, LD_TIME_itl), 0.01, 1e-6);
    settings.load.concurrency = 16; /* both are nearly always busy */
    settings.load.n_requests = 400;
    struct sim_results busy = simulate(&settings, one_each);
    assert_true(p50_of(&busy, LD_TIME_itl) > 0.0199);
}

/* Two clients whose answers end in one step: their next prompts come together, one way or the
 * other. */
TEST(requests_that_come_together_share_a_pass)
{
    struct sim_settings settings = roomy_settings(0.1, 0.01);
    settings.load.concurrency = 2;
    settings.costs.before_s = 0.001;
    for (int i = 0; i < SIM_N_QUANTILES; i++)
        settings.costs.way.factor[i] = 0.5 + i / 8.0;
    struct sim_results results = simulate(&settings, one_each);
    assert_near(results.mean_rows, 128, 1e-6);
    assert_true(p50_of(&results, LD_TIME_ttft) < 0.105);
}

TEST(a_worker_that_computes_beside_others_is_slower)
{
    struct sim_settings settings = roomy_settings(0.1, 0.01);
    settings.cores = SIM_CORES_PINNED;
    settings.costs.cores[0].step.beside = 1.5;
    struct sim_results alone = simulate(&settings, one_each);
    assert_near(p50_of(&alone, LD_TIME_itl), 0.01, 1e-6);
    settings.load.concurrency = 8;
    struct sim_results beside = simulate(&settings, one_each);
    assert_near(p50_of(&beside, LD_TIME_itl), 0.015, 1e-6);
}

/* ---- theory ---- */

/* Poisson arrivals, one server: n requests whose service is a number of steps. */
static struct ld_trace poisson_trace(size_t n, double rate_per_s, int64_t steps, bool exponential)
{
    struct ld_trace trace = {.n = n, .rows = calloc(n, sizeof *trace.rows)};
    double now_s = 0;
    assert_non_null(trace.rows);
    for (size_t i = 0; i < n; i++) {
        struct ld_rng gap = ld_rng(1, LD_STREAM_ARRIVAL, i);
        struct ld_rng service = ld_rng(1, LD_STREAM_REQUEST, i);
        double draw = exponential ? ld_rng_exponential(&service) : 1;
        int64_t n_steps = (int64_t)fmax(round((double)steps * draw), 1);
        now_s += ld_rng_exponential(&gap) / rate_per_s;
        trace.rows[i] = (struct ld_trace_row){
            .arrival_s = now_s, .input_tokens = 16, .output_tokens = 1 + n_steps};
    }
    return trace;
}

/* The mean wait, in services, for a decode worker that serves one after the other. */
static double mean_wait_s(double load, bool exponential)
{
    enum { N = 100000, STEPS = 20 };
    const double step_s = 0.001, service_s = STEPS * step_s;
    struct sim_settings settings = roomy_settings(1e-9, step_s);
    struct ld_trace trace = poisson_trace(N, load / service_s, STEPS, exponential);
    settings.max_batch = 1;
    settings.load.arrivals = LD_TRACE;
    settings.load.n_requests = N;
    settings.load.workload.trace = &trace;
    struct sim_results results = simulate(&settings, one_each);
    free(trace.rows);
    const struct ld_figures *figures = &results.figures;
    double served_s = ((double)figures->output_tokens / N - 1) * step_s;
    assert_near(results.decode_busy, load, 0.03);
    return (figures->times[LD_TIME_e2el].mean - served_s) / service_s;
}

TEST(exponential_service_waits_as_m_m_1)
{
    assert_near(mean_wait_s(0.5, true), 0.5 / 0.5, 0.05);
    assert_near(mean_wait_s(0.7, true), 0.7 / 0.3, 0.17);
}

TEST(constant_service_waits_as_m_d_1)
{
    assert_near(mean_wait_s(0.5, false), 0.5 / (2 * 0.5), 0.02);
    assert_near(mean_wait_s(0.8, false), 0.8 / (2 * 0.2), 0.12);
}

/* Prompts of a whole chunk share no pass, and equals are first come, first served. */
TEST(prompts_wait_as_m_d_1_too)
{
    enum { N = 60000 };
    const double load = 0.7;
    struct sim_settings settings = roomy_settings(0.01, 0.001);
    settings.load.arrivals = LD_POISSON;
    settings.load.rate_per_s = load / 0.01;
    settings.load.n_requests = N;
    settings.load.workload.prompt = (struct ld_lengths){.min = 128, .max = 128};
    settings.load.workload.output = (struct ld_lengths){.min = 1, .max = 1};
    struct sim_results results = simulate(&settings, one_each);
    double wait_s = results.figures.times[LD_TIME_ttft].mean - 0.01;
    assert_near(wait_s / 0.01, load / (2 * (1 - load)), 0.06);
}

/* Little's law: those in the system = rate x time in it. */
TEST(a_closed_loop_obeys_littles_law)
{
    struct sim_settings settings = roomy_settings(0.013, 0.002);
    settings.load.concurrency = 12;
    settings.load.n_requests = 20000;
    struct sim_results results = simulate(&settings, (struct sim_layout){2, 3});
    double inside = results.figures.requests_per_s * results.figures.times[LD_TIME_e2el].mean;
    assert_near(inside, 12, 0.05);
}

/* ---- no request is lost, nothing is random ---- */

static struct sim_settings mixed_settings(void)
{
    struct sim_settings settings = roomy_settings(0.02, 0.005);
    settings.load.arrivals = LD_POISSON;
    settings.load.rate_per_s = 300;
    settings.load.n_requests = 5000;
    settings.load.workload.prompt =
        (struct ld_lengths){.kind = LD_LENGTHS_UNIFORM, .min = 1, .max = 700};
    settings.load.workload.output =
        (struct ld_lengths){.kind = LD_LENGTHS_UNIFORM, .min = 1, .max = 60};
    settings.max_batch = 8;
    settings.max_queued = 50;
    settings.kv_blocks = 720 / BATON_KV_BLOCK_TOKENS;
    settings.costs.handoff_token_s = 1e-5;
    for (int i = 0; i < SIM_N_QUANTILES; i++)
        settings.costs.cores[0].pass.spread.factor[i] = 0.5 + i / 4.0;
    return settings;
}

TEST(every_request_ends_at_any_capacity)
{
    struct sim_settings settings = mixed_settings();
    for (int mode = SIM_CORES_OWN; mode <= SIM_CORES_PINNED; mode++) {
        settings.cores = (enum sim_cores)mode;
        struct sim_results results = simulate(&settings, (struct sim_layout){3, 2});
        const struct ld_figures *figures = &results.figures;
        const uint64_t *n = figures->n_by_outcome;
        assert_int_equal(figures->n_sent, 5000);
        assert_int_equal(n[LD_DONE] + n[LD_FAILED], 5000);
        assert_true(n[LD_DONE] > 100 && figures->n_refused > 100); /* both were met */
        assert_int_equal(figures->n_short, 0);
        assert_int_equal(figures->times[LD_TIME_ttft].n, n[LD_DONE]);
        assert_int_equal(figures->output_tokens,
                         figures->times[LD_TIME_itl].n + figures->times[LD_TIME_ttft].n);
    }
}

TEST(a_request_that_fits_nowhere_is_told_so)
{
    struct sim_settings settings = roomy_settings(0.02, 0.005);
    settings.kv_blocks = 4;
    struct sim_results results = simulate(&settings, one_each);
    assert_int_equal(results.figures.n_by_outcome[LD_FAILED], 100);
    assert_non_null(strstr(results.figures.failures[0].text, "KV cache"));
}

TEST(the_same_seed_gives_the_same_results)
{
    struct sim_settings settings = mixed_settings();
    const struct sim_layout layout = {3, 2};
    struct sim_results first = simulate(&settings, layout), again = simulate(&settings, layout);
    assert_memory_equal(&first.figures, &again.figures, sizeof first.figures);
    assert_int_equal(first.n_events, again.n_events);
    settings.load.workload.seed++;
    struct sim_results other = simulate(&settings, layout);
    assert_true(other.figures.times[LD_TIME_ttft].mean != first.figures.times[LD_TIME_ttft].mean);
}

TEST(more_workers_of_the_short_role_serve_more)
{
    struct sim_settings settings = roomy_settings(0.1, 0.001);
    settings.load.concurrency = 64;
    settings.load.n_requests = 2000;
    settings.load.workload.prompt = (struct ld_lengths){.min = 128, .max = 128};
    struct sim_results few = simulate(&settings, one_each);
    struct sim_results many = simulate(&settings, (struct sim_layout){4, 1});
    assert_near(few.figures.requests_per_s, 10, 0.2);
    assert_near(many.figures.requests_per_s, 40, 1);
}
