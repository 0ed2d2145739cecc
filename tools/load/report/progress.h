/* Shows the progress of a run as one line on a terminal; nothing when stderr is not a terminal.
 *
 * Ownership: borrows the load until stop.
 * Threading: the loop's.
 * Errors:    none: a line that cannot be shown is left out.
 */
#ifndef BATON_TOOLS_LOAD_REPORT_PROGRESS_H
#define BATON_TOOLS_LOAD_REPORT_PROGRESS_H

#include "tools/load/load.h"

struct ld_progress {
    uv_timer_t timer;
    const struct ld_load *load;
    const char *title;
    bool shown;
    uint64_t n_tokens; /* at the last line */
    int64_t at_ns;
};

void ld_progress_start(struct ld_progress *progress, const struct ld_load *load, const char *title,
                       bool quiet);
/* Clears the line. The loop must turn once more. */
void ld_progress_stop(struct ld_progress *progress);

#endif
