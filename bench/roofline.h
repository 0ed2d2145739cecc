/* The least time of a phase: its arithmetic at the machine's peak or its bytes at the machine's
 * bandwidth, whichever takes longer (Williams, Waterman, Patterson, 2009). A pass has three phases,
 * each of which waits for the one before: the layers' matrices, the attention, the head.
 *
 * Ownership: plain values.
 * Threading: pure functions.
 * Errors:    none.
 */
#ifndef BATON_BENCH_ROOFLINE_H
#define BATON_BENCH_ROOFLINE_H

#include <stdbool.h>

#include "engine/arch/spec.h"
#include "engine/model/model.h"

struct bench_phase {
    double flops; /* a multiplication and an addition are two */
    double bytes; /* between memory and cores */
};

struct bench_work {
    struct bench_phase matrices, attention, head;
};

double bench_work_flops(const struct bench_work *work);
double bench_work_bytes(const struct bench_work *work);

struct bench_limits {
    double flops_per_s;        /* of products with packed weights */
    double attend_flops_per_s; /* of f32, which attention computes in */
    double bytes_per_s;
};

struct bench_estimate {
    double seconds;
    const char *bound; /* "compute" or "memory": the larger part of that time */
};

struct bench_estimate bench_estimate_of(struct bench_work work, struct bench_limits limits);

/* Sizes of everything that is moved except activations, which stay in caches. */
struct bench_sizes {
    struct baton_model_bytes weights; /* each part is read once by a pass or step that needs it */
    double kv_element_bytes;          /* of one element of K or V */
};

/* Returns the work of one pass over n_tokens of a prompt behind n_past, with the logits of its last
 * position. From the last layer's attention on only that position is computed. K and V are written
 * and read once. Layers with a window attend to no more than that. A mixture's experts count as
 * often as the rows are expected to choose them. */
struct bench_work bench_prefill_work(const struct baton_spec *spec, const struct bench_sizes *sizes,
                                     int n_past, int n_tokens);

/* Returns the work of one step of n_seqs sequences with n_past positions each, or a mean of steps
 * if n_past is not an integer. K and V within the windows are read, and those of the step are
 * written. */
struct bench_work bench_decode_work(const struct baton_spec *spec, const struct bench_sizes *sizes,
                                    double n_past, int n_seqs);

#endif
