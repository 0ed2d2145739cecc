/* The report of measured hand-offs, as a table and as JSON.
 *
 * Ownership: plain values and borrowed texts.
 * Threading: the main thread.
 * Errors:    those of writing to stdout.
 */
#ifndef BATON_BENCH_HANDOFF_REPORT_H
#define BATON_BENCH_HANDOFF_REPORT_H

#include <stdbool.h>

#include "bench/handoff/emulation.h"

/* The figures of one KV dtype. The emulated ones are valid with has_emulated. */
struct ho_figures {
    const char *kv_dtype;
    struct ho_curve curve; /* its points are `points` */
    struct ho_point points[HO_MAX_LENGTHS];
    /* The same through shared memory: shared_curve's points are shared_points. */
    struct ho_curve shared_curve;
    struct ho_point shared_points[HO_MAX_LENGTHS];
    struct ho_times shared[HO_MAX_LENGTHS];
    struct ho_times times[HO_MAX_LENGTHS], emulated[HO_MAX_LENGTHS];
    struct ho_times by_chunk[HO_MAX_LENGTHS]; /* of the longest prompt */
    bool has_emulated;
};

struct ho_report {
    const char *model, *dtype, *kernels;
    int n_threads, n_context; /* n_context is the model's: no prompt is longer */
    bool has_network;
    struct ho_network network;
    size_t chunk_bytes[HO_MAX_LENGTHS];
    int n_chunk_sizes;
    struct ho_figures figures[2];
    int n_figures;
    /* reason for a skipped emulation; "" if it ran or was not requested */
    struct baton_why skipped;
};

enum baton_err ho_report_table(const struct ho_report *report) BATON_MUST_CHECK;
enum baton_err ho_report_json(const struct ho_report *report) BATON_MUST_CHECK;

#endif
