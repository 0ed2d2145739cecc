#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "tools/load/report/figures.h"
#include "tools/load/workload/phases.h"

enum { MS = 1000000 };

static struct ld_records records;

/* A request that began at start_ms, whose tokens came at first_ms and every gap_ms. */
static struct ld_record *add(const char *group, int64_t start_ms, int64_t first_ms, int64_t gap_ms,
                             int n_tokens)
{
    struct ld_record *record = ld_records_add(&records);
    assert_non_null(record);
    record->group = group;
    record->start_ns = start_ms * MS;
    ld_record_begin_attempt(record, start_ms * MS);
    record->plan = (struct ld_plan){.prompt_tokens = 10, .output_tokens = n_tokens};
    for (int i = 0; i < n_tokens; i++)
        assert_true(ld_record_arrival(record, (first_ms + i * gap_ms) * MS));
    record->first_ns = first_ms * MS;
    record->finished_ns = record->end_ns = (first_ms + (n_tokens - 1) * gap_ms) * MS;
    record->outcome = LD_DONE;
    return record;
}

static struct ld_figures figures_of(int64_t to_ms, const struct ld_slo *slo)
{
    struct ld_figures figures;
    assert_ok(ld_figures_make(&records, "a", 1 * MS, to_ms * MS, slo, &figures));
    return figures;
}

TEARDOWN(clean)
{
    ld_records_fini(&records);
}

TEST(times_are_those_of_the_record)
{
    const struct ld_slo none = {0};
    add("a", 1, 101, 10, 5);
    add("b", 1, 999, 99, 9);
    struct ld_figures figures = figures_of(1001, &none);
    assert_int_equal(figures.n_sent, 1);
    assert_float_equal(figures.times[LD_TIME_ttft].p50, 0.1, 1e-9);
    assert_float_equal(figures.times[LD_TIME_itl].max, 0.01, 1e-9);
    assert_int_equal(figures.times[LD_TIME_itl].n, 4);
    assert_float_equal(figures.times[LD_TIME_tpot].p50, 0.01, 1e-9);
    assert_float_equal(figures.times[LD_TIME_e2el].p50, 0.14, 1e-9);
    assert_int_equal(figures.times[LD_TIME_server_ttft].n, 0);
    assert_float_equal(figures.output_per_s, 5, 1e-6);
    assert_float_equal(figures.requests_per_s, 1, 1e-6);
    assert_float_equal(figures.prompt_per_s, 10, 1e-6);
}

TEST(the_servers_figures_are_taken_from_ours)
{
    const struct ld_slo none = {0};
    struct ld_record *record = add("a", 1, 101, 10, 5);
    record->server.ttft_s = 0.09;
    record->server.tpot_s = 0.008;
    record->server.stages_s[BATON_STAGE_decode] = 0.03;
    struct ld_figures figures = figures_of(1001, &none);
    assert_float_equal(figures.times[LD_TIME_over_ttft].p50, 0.01, 1e-9);
    assert_float_equal(figures.times[LD_TIME_over_tpot].p50, 0.002, 1e-9);
    assert_float_equal(figures.times[LD_TIME_step].p50, 0.0075, 1e-9);
    assert_float_equal(figures.times[LD_TIME_over_step].p50, 0.0025, 1e-9);
}

TEST(rates_count_what_came_within_the_window)
{
    const struct ld_slo none = {0};
    add("a", 1, 100, 100, 20); /* ten of its tokens by 1001 */
    struct ld_figures figures = figures_of(1001, &none);
    assert_float_equal(figures.output_per_s, 10, 1e-6);
    assert_float_equal(figures.requests_per_s, 0, 1e-6);
    assert_int_equal(figures.output_tokens, 20);
}

TEST(tokens_without_an_event_count_all_the_same)
{
    const struct ld_slo none = {0};
    struct ld_record *record = add("a", 1, 100, 100, 4);
    record->server.output_tokens = 8;
    struct ld_figures figures = figures_of(1001, &none);
    assert_int_equal(figures.output_tokens, 8);
    assert_int_equal(figures.n_merged, 4);
    assert_float_equal(figures.output_per_s, 8, 1e-6);
}

TEST(every_request_has_one_outcome)
{
    static const struct ld_slo slo = {.ttft_s = 0.05, .itl_s = 0.02};
    add("a", 1, 41, 20, 3);                        /* good */
    add("a", 1, 101, 10, 3);                       /* first token too late */
    add("a", 1, 41, 21, 3);                        /* a gap too long */
    add("a", 1, 41, 10, 3)->outcome = LD_CANCELED; /* left */
    struct ld_record *failed = add("a", 1, 41, 10, 1);
    failed->outcome = LD_FAILED;
    (void)snprintf(failed->failure, sizeof failed->failure, "HTTP 429 queue_full");
    failed->n_refused = failed->n_attempts = 3;
    struct ld_figures figures = figures_of(1001, &slo);
    assert_int_equal(figures.n_sent, 5);
    assert_int_equal(figures.n_by_outcome[LD_DONE], 3);
    assert_int_equal(figures.n_by_outcome[LD_CANCELED], 1);
    assert_int_equal(figures.n_by_outcome[LD_FAILED], 1);
    assert_int_equal(figures.n_good, 1);
    assert_float_equal(figures.good_per_s, 1, 1e-6);
    assert_int_equal(figures.n_refused, 3);
    assert_int_equal(figures.n_failures, 1);
    assert_string_equal(figures.failures[0].text, "HTTP 429 queue_full");
}

TEST(failures_are_counted_by_kind)
{
    const struct ld_slo none = {0};
    for (int i = 0; i < 60; i++) {
        struct ld_record *record = add("a", 1, 2, 1, 1);
        record->outcome = LD_FAILED;
        (void)snprintf(record->failure, sizeof record->failure, "kind %d", i < 20 ? 7 : i);
    }
    struct ld_figures figures = figures_of(1001, &none);
    uint64_t n = 0;
    assert_int_equal(figures.n_failures, LD_MAX_FAILURES);
    assert_string_equal(figures.failures[0].text, "kind 7");
    assert_int_equal(figures.failures[0].n, 20);
    for (int i = 0; i < figures.n_failures; i++)
        n += figures.failures[i].n;
    assert_int_equal(n, 60);
}

TEST(warm_and_cold_are_told_apart)
{
    const struct ld_slo none = {0};
    add("a", 1, 101, 10, 3)->server.cached_tokens = 0;
    add("a", 1, 21, 10, 3)->server.cached_tokens = 8;
    add("a", 1, 31, 10, 3);
    struct ld_figures figures = figures_of(1001, &none);
    assert_int_equal(figures.n_cold, 1);
    assert_int_equal(figures.n_warm, 1);
    assert_float_equal(figures.times[LD_TIME_ttft_cold].p50, 0.1, 1e-9);
    assert_float_equal(figures.times[LD_TIME_ttft_warm].p50, 0.02, 1e-9);
}

TEST(a_gap_belongs_to_the_phase_it_lies_in)
{
    struct ld_phase alone, intruded;
    struct ld_record *record = add("readers", 1, 100, 10, 11); /* to 200 */
    assert_true(ld_record_arrival(record, 260 * MS));          /* across the border */
    for (int i = 1; i <= 10; i++)
        assert_true(ld_record_arrival(record, (260 + 10 * i) * MS));
    assert_true(ld_record_arrival(record, 400 * MS));
    add("intruders", 1, 100, 1000, 3);
    assert_ok(ld_phase_make(&records, "readers", 90 * MS, 250 * MS, &alone));
    assert_ok(ld_phase_make(&records, "readers", 250 * MS, 500 * MS, &intruded));
    assert_int_equal(alone.itl.n, 10);
    assert_float_equal(alone.max_steps, 1, 1e-9);
    assert_int_equal(alone.n_stalls, 0);
    assert_int_equal(intruded.itl.n, 11);
    assert_float_equal(intruded.itl.max, 0.04, 1e-9);
    assert_float_equal(intruded.max_steps, 4, 1e-9);
    assert_int_equal(intruded.n_stalls, 1);
}

EACH_TEST(NULL, clean)
