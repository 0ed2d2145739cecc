/* One line of the engine's table: the work, its duration, and its least duration.
 *
 * Ownership: plain values; names are borrowed.
 * Threading: the main thread.
 * Errors:    print: those of writing to stdout.
 */
#ifndef BATON_BENCH_LINE_H
#define BATON_BENCH_LINE_H

#include "bench/probe.h"
#include "bench/roofline.h"
#include "common/base/json.h"

enum { BENCH_MIN_RUNS = 5, BENCH_MAX_RUNS = 101 };

/* The facts that all lines of one run share. */
struct bench_subject {
    const char *model, *dtype, *kernels, *kv_dtype;
    double kv_token_bytes; /* K and V of one position in all layers, as stored and transferred */
    int n_threads;
    int chunk; /* rows that a prefill worker computes at once by default; 0: not reported */
};

struct bench_line {
    const char *phase;          /* "prefill", "decode", or attention's part in either */
    int prompt, batch;          /* tokens before the first step; sequences, or rows */
    double seconds;             /* median duration of a pass, or of one step */
    struct bench_work work;     /* of that pass or step */
    struct bench_limits limits; /* medians of samples that alternate with the runs */
};

/* Times one run, in seconds per pass or step. */
typedef enum baton_err (*bench_time_fn)(void *arg, const struct bench_line *line, double *seconds);

/* The machine's limits for the model's products and for attention, which computes in f32. Both may
 * be one probe. */
struct bench_probes {
    struct bench_probe *products, *attention;
};

/* Runs the line's work and sets its times: medians of n_runs after one warm-up run. A sample of the
 * machine precedes each run. */
enum baton_err bench_line_measure(struct bench_line *line, const struct bench_probes *probes,
                                  int n_runs, bench_time_fn time, void *arg) BATON_MUST_CHECK;

/* Write the table's head and a row of it, and flush. */
enum baton_err bench_line_print_head(const struct bench_subject *subject) BATON_MUST_CHECK;
enum baton_err bench_line_print(const struct bench_line *line) BATON_MUST_CHECK;

/* Writes one element of an array. */
void bench_line_put(struct baton_json_out *out, const struct bench_subject *subject,
                    const struct bench_line *line);

#endif
