/* The recent time per unit of work, by a clock that runs only while any work is open.
 *
 * Recent means the last seconds of that clock, and at least the last few moments in which work was
 * done, however long ago they were. Time without any work done counts as it passes. It is forgotten
 * when nothing is open any more: what was open then failed or left, and a stall says nothing about
 * the pace. When work is done after all, a pause far above the usual counts as one of 1 s, or of
 * eight times the usual.
 *
 * Ownership: plain data; all zeros is a fresh one.
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
    double clock_s;   /* of the time in which any was open, up to the last work that was done */
    double pending_s; /* the same, since then */
    double done;      /* in all */
    uint64_t n_marks; /* in all */
    struct {
        double clock_s, done;
    } marks[GW_BUSY_RATE_MARKS]; /* the last moments in which anything was done; mark i at i % n */
};

void gw_busy_rate_begin(struct gw_busy_rate *rate, int64_t now_ns);
/* Counts work that was done. The work must still be open: call this before gw_busy_rate_end. */
void gw_busy_rate_note(struct gw_busy_rate *rate, double done, int64_t now_ns);
void gw_busy_rate_end(struct gw_busy_rate *rate, int64_t now_ns);
/* Advances the clock to now_ns, without work. */
void gw_busy_rate_pass(struct gw_busy_rate *rate, int64_t now_ns);
/* Advances to now_ns and forgets the time since the last work: nothing that is open could be done,
 * because nobody was there to do it. */
void gw_busy_rate_skip(struct gw_busy_rate *rate, int64_t now_ns);

/* The clock's time per unit. Before the first unit is done, the clock's time so far. */
double gw_busy_rate_per_unit_s(const struct gw_busy_rate *rate);

#endif
