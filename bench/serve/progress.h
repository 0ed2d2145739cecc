/* One line on a terminal that says how far a run is; nothing when stderr is no terminal.
 *
 * Ownership: borrows the load until stop.
 * Threading: the loop's.
 * Errors:    none: a line that can not be shown is not missed.
 */
#ifndef BATON_BENCH_SERVE_PROGRESS_H
#define BATON_BENCH_SERVE_PROGRESS_H

#include "bench/serve/load.h"

struct sv_progress {
    uv_timer_t timer;
    const struct sv_load *load;
    const char *title;
    bool shown;
    uint64_t n_tokens; /* at the last line */
    int64_t at_ns;
};

void sv_progress_start(struct sv_progress *progress, const struct sv_load *load, const char *title,
                       bool quiet);
/* Clears the line. The loop must turn once more. */
void sv_progress_stop(struct sv_progress *progress);

#endif
