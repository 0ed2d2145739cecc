#include "tests/support/test.h"
#include "tools/load/workload/source.h"

enum { MS = 1000000, START_MS = 1000 };

static struct ld_source source_of(enum ld_arrivals arrivals)
{
    return (struct ld_source){.workload = {.seed = 4,
                                           .prompt = {.min = 1, .max = 1},
                                           .output = {.min = 1, .max = 1},
                                           .n_prefixes = 1,
                                           .trace_scale = 1},
                              .arrivals = arrivals,
                              .concurrency = 2,
                              .rate_per_s = 100,
                              .trace_speed = 1,
                              .begin_ns = START_MS * (int64_t)MS,
                              .stop_ns = INT64_MAX,
                              .max_in_flight = 1000};
}

static int64_t ns_of(double ms)
{
    return (int64_t)((START_MS + ms) * MS);
}

/* Starts what is due at that time; how many that were, and when the last was due in ms. */
static int start_at(struct ld_source *source, double ms, double *last_ms)
{
    int64_t due_ns;
    int n = 0;
    for (; ld_source_is_due(source, ns_of(ms), &due_ns); n++) {
        *last_ms = (double)due_ns / MS - START_MS;
        (void)ld_source_take(source);
    }
    return n;
}

TEST(a_closed_source_fills_its_slots)
{
    struct ld_source source = source_of(LD_CLOSED);
    double due_ms;
    source.n_requests = 3;
    assert_int_equal(start_at(&source, -1, &due_ms), 0);
    assert_int_equal(start_at(&source, 5, &due_ms), 2);
    assert_true(due_ms == 5);
    assert_int_equal(start_at(&source, 6, &due_ms), 0);
    source.n_in_flight -= 2;
    assert_int_equal(start_at(&source, 7, &due_ms), 1);
    assert_true(ld_source_is_exhausted(&source, ns_of(7)));
}

TEST(a_closed_source_stops_in_time)
{
    struct ld_source source = source_of(LD_CLOSED);
    double due_ms;
    source.stop_ns = ns_of(10);
    assert_true(ld_source_next_ns(&source, ns_of(5)) == ns_of(10));
    assert_false(ld_source_is_exhausted(&source, ns_of(5)));
    assert_int_equal(start_at(&source, 10, &due_ms), 0);
    assert_true(ld_source_is_exhausted(&source, ns_of(10)));
}

TEST(poisson_arrivals_have_their_rate)
{
    struct ld_source source = source_of(LD_POISSON), again = source_of(LD_POISSON);
    double due_ms, due_again_ms;
    source.max_in_flight = again.max_in_flight = 1 << 20;
    int n = start_at(&source, 100000, &due_ms);
    assert_in_range(n, 9700, 10300); /* 100 a second for 100 s, deviation 100 */
    assert_true(due_ms <= 100000);
    for (int ms = 0; ms <= 100000; ms += 7) /* however often it is asked */
        n -= start_at(&again, ms, &due_again_ms);
    n -= start_at(&again, 100000, &due_again_ms);
    assert_int_equal(n, 0);
    assert_true(due_ms == due_again_ms);
}

TEST(periodic_arrivals_begin_at_once)
{
    struct ld_source source = source_of(LD_PERIODIC);
    double due_ms;
    assert_int_equal(start_at(&source, 0, &due_ms), 1);
    assert_true(due_ms == 0);
    assert_true(ld_source_next_ns(&source, ns_of(0)) == ns_of(10));
    assert_int_equal(start_at(&source, 35, &due_ms), 3);
    assert_true(due_ms == 30);
}

TEST(nothing_is_due_before_the_start_is_known)
{
    struct ld_source source = source_of(LD_PERIODIC);
    double due_ms;
    source.begin_ns = INT64_MAX;
    assert_int_equal(start_at(&source, 100, &due_ms), 0);
    assert_true(ld_source_next_ns(&source, ns_of(100)) == INT64_MAX);
    assert_false(ld_source_is_exhausted(&source, ns_of(100)));
    source.begin_ns = ns_of(120);
    assert_int_equal(start_at(&source, 119, &due_ms), 0);
    assert_int_equal(start_at(&source, 120, &due_ms), 1);
}

TEST(a_trace_arrives_as_it_says)
{
    struct ld_trace_row rows[] = {{.arrival_s = 0, .input_tokens = 1, .output_tokens = 1},
                                  {.arrival_s = 0, .input_tokens = 1, .output_tokens = 1},
                                  {.arrival_s = 0.5, .input_tokens = 1, .output_tokens = 1}};
    const struct ld_trace trace = {.rows = rows, .n = 3};
    struct ld_source source = source_of(LD_TRACE);
    double due_ms;
    source.workload.trace = &trace;
    source.trace_speed = 5;
    assert_int_equal(start_at(&source, 0, &due_ms), 2);
    assert_int_equal(start_at(&source, 99, &due_ms), 0);
    assert_int_equal(start_at(&source, 101, &due_ms), 1);
    assert_true(due_ms == 100);
    assert_true(ld_source_is_exhausted(&source, ns_of(101)));
}

TEST(held_requests_keep_the_time_they_were_due)
{
    struct ld_source source = source_of(LD_PERIODIC);
    double due_ms;
    source.max_in_flight = 1;
    assert_int_equal(start_at(&source, 25, &due_ms), 1);
    assert_true(due_ms == 0);
    source.n_in_flight = 0;
    assert_int_equal(start_at(&source, 30, &due_ms), 1);
    assert_true(due_ms == 10);
    assert_int_equal(source.n_held, 1);
}

TEST(requests_that_could_not_be_sent_in_time_are_counted)
{
    struct ld_source source = source_of(LD_PERIODIC);
    double due_ms;
    source.max_in_flight = 1;
    source.stop_ns = ns_of(50);
    assert_int_equal(start_at(&source, 20, &due_ms), 1);
    assert_int_equal(start_at(&source, 50, &due_ms), 0);
    assert_true(ld_source_is_exhausted(&source, ns_of(50)));
    assert_int_equal(source.n_due - source.n_started, 4);
}
