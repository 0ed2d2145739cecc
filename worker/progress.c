#include "worker/progress.h"

#include <math.h>

#include "common/base/clock.h"

static const double longest_gap_s = 0.5, usual_times = 8;

/* The first work of a process may read gigabytes of weights from a disk. */
static const double unknown_s = 10;

double baton_progress_look(struct baton_progress *progress, bool has_work, uint64_t n_done,
                           int64_t now_ns)
{
    double gap_s = progress->looked_ns ? baton_seconds(now_ns - progress->looked_ns) : 0;
    bool is_still = has_work && n_done == progress->n_done;
    progress->still_s = is_still ? progress->still_s + fmin(gap_s, longest_gap_s) : 0;
    progress->n_done = n_done;
    progress->looked_ns = now_ns;
    return progress->still_s;
}

double baton_progress_patience_s(double floor_s, double usual_s)
{
    return fmax(floor_s, usual_s > 0 ? usual_times * usual_s : unknown_s);
}
