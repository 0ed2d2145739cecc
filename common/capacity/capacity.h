/* Computes the utilisation of a fleet by a workload, the role that is short, and the layout that
 * would suffice.
 *
 * A worker's step of n rows takes base + n x per_row seconds: rows are prompt tokens at a prefill
 * worker, sequences at a decode worker. Under load its steps are full, so a token takes
 *
 *     token_s = base / max_rows + per_row          of one worker, at its best
 *     utilisation = requested tokens per second x token_s / workers
 *
 * of which above 1 is more than the role can do. A role is short from BATON_SHORT_FROM on: beyond
 * it the wait in a queue grows faster than the load.
 *
 * Ownership: plain values.
 * Threading: pure functions.
 * Errors:    none; an unknown figure is NaN.
 */
#ifndef BATON_COMMON_CAPACITY_CAPACITY_H
#define BATON_COMMON_CAPACITY_CAPACITY_H

#include <stdbool.h>

#define BATON_SHORT_FROM 0.8

struct baton_stage_cost {
    double base_s, per_row_s; /* both 0: unknown */
    double max_rows;          /* of a step; >= 1 */
};

struct baton_workload {
    double rate_per_s;    /* requests arriving */
    double prompt_tokens; /* to compute, per request: the mean */
    double prompt_cv;     /* their standard deviation over their mean */
    double output_tokens; /* per request, the mean; >= 1, since the first comes with the prompt */
};

struct baton_fleet {
    struct baton_stage_cost prefill, decode;
    double n_prefill, n_decode; /* workers */
};

enum baton_shortage {
    BATON_SHORT_UNKNOWN,
    BATON_SHORT_NONE,
    BATON_SHORT_PREFILL,
    BATON_SHORT_DECODE,
    BATON_SHORT_BOTH
};

struct baton_advice {
    enum baton_shortage shortage;
    double prefill_utilisation, decode_utilisation; /* NaN: unknown */
    double ratio;                                   /* prefill workers per decode worker that are
                                                     * equally busy; NaN: not known, or no bound */
    double n_prefill,
        n_decode; /* the least that keep each below BATON_SHORT_FROM; NaN: not known */
};

/* Returns a worker's seconds for one token when its steps are full; NaN when its cost is
 * unknown. */
double baton_capacity_token_s(const struct baton_stage_cost *cost);

struct baton_advice baton_capacity_advise(const struct baton_fleet *fleet,
                                          const struct baton_workload *workload);

/* Returns "unknown", "none", "prefill", "decode" or "both". */
const char *baton_shortage_name(enum baton_shortage shortage);

#endif
