/* The recent time per unit of work, by a clock that runs only while any work is open.
 *
 * Recent means the last seconds of that clock, and at least the last few moments in which work was
 * done, however long ago they were. Time in which no work is done counts as it passes. It is
 * dropped when the last open work ends without being done: that work failed or left, and a stall is
 * not a measure of the pace. When work is done after a pause far above the usual, the pause counts
 * as 1 s, or as eight times the usual.
 *
 * Ownership: plain data; zeroed it has measured nothing.
 * Threading: pure functions of their arguments; times are baton_now_ns's.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_OBSERVE_BUSY_RATE_H
#define BATON_GATEWAY_OBSERVE_BUSY_RATE_H

#include <stddef.h>
#include <stdint.h>

enum { GW_BUSY_RATE_MARKS = 64 };

struct gw_busy_rate {
    size_t n_open;
    int64_t seen_ns;  /* up to when pending_s counts */
    double clock_s;   /* time with open work, up to the last work that was done */
    double pending_s; /* time with open work since then */
    double done;      /* total units */
    uint64_t n_marks; /* total, including overwritten ones */
    struct {
        double clock_s, done;
    } marks[GW_BUSY_RATE_MARKS]; /* the last moments in which work was done; mark i at i % n */
};

void gw_busy_rate_begin(struct gw_busy_rate *rate, int64_t now_ns);
/* Counts work that was done. The work must still be open: call this before gw_busy_rate_end. */
void gw_busy_rate_note(struct gw_busy_rate *rate, double done, int64_t now_ns);
void gw_busy_rate_end(struct gw_busy_rate *rate, int64_t now_ns);
/* Advances the clock to now_ns, without work. */
void gw_busy_rate_pass(struct gw_busy_rate *rate, int64_t now_ns);
/* Advances to now_ns and drops the time since the last work, because no worker could do any. */
void gw_busy_rate_skip(struct gw_busy_rate *rate, int64_t now_ns);

/* The clock's time per unit. Before the first unit is done, the clock's time so far. */
double gw_busy_rate_per_unit_s(const struct gw_busy_rate *rate);

#endif
