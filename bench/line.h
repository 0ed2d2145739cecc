/* One line of the engine's table: what was run, how long it took, what it costs at least.
 *
 * Ownership: plain values; names are borrowed.
 * Threading: the main thread.
 * Errors:    print: those of writing to stdout.
 */
#ifndef BATON_BENCH_LINE_H
#define BATON_BENCH_LINE_H

#include "bench/roofline.h"
#include "common/base/json.h"

/* What all lines of one run share. */
struct bench_subject {
    const char *model, *dtype, *kernels, *kv_dtype;
    int n_threads;
};

struct bench_line {
    const char *phase;          /* "prefill" or "decode" */
    int prompt, batch;          /* tokens before the first step, sequences */
    double seconds;             /* of a pass, or of one step: the median */
    struct bench_work work;     /* of that pass or step */
    struct bench_limits limits; /* medians of samples taken in turn with the runs */
};

/* The table's head and a row of it, written at once. */
enum baton_err bench_line_print_head(const struct bench_subject *subject) BATON_MUST_CHECK;
enum baton_err bench_line_print(const struct bench_line *line) BATON_MUST_CHECK;

/* One element of an array. */
void bench_line_put(struct baton_json_out *out, const struct bench_subject *subject,
                    const struct bench_line *line);

#endif
