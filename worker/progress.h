/* Whether something that has work moves: how long a counter of what it did has stood still.
 *
 * Looked at from outside, again and again. Time in which nobody looked counts for at most half a
 * second, because the one who looks may have been stopped himself, together with what he watches.
 *
 * Ownership: plain data; zeroed it has seen nothing.
 * Threading: none; one owner.
 * Errors:    none.
 */
#ifndef BATON_WORKER_PROGRESS_H
#define BATON_WORKER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct baton_progress {
    uint64_t n_done;
    int64_t looked_ns; /* 0: never */
    double still_s;
};

/* What is there now: whether it has work, and how much it did in all. Returns for how many seconds
 * it has had work and done nothing. */
double baton_progress_look(struct baton_progress *progress, bool has_work, uint64_t n_done,
                           int64_t now_ns);

/* For how long something may stand still before it counts as stalled: floor_s, or many times what
 * one unit of its work usually takes; usual_s 0: that is not known yet, so for long. */
double baton_progress_patience_s(double floor_s, double usual_s);

#endif
