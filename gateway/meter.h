/* How long one of something takes, lately, by a clock that runs only while any is open.
 *
 * Lately: in the last seconds of that clock, and in any case in the last few moments in which
 * something was done, however long ago.
 *
 * Ownership: plain data; all zeros is a fresh one.
 * Threading: pure functions of their arguments; times are baton_now_ns's.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_METER_H
#define BATON_GATEWAY_METER_H

#include <stddef.h>
#include <stdint.h>

enum { GW_METER_MARKS = 64 };

struct gw_meter {
    size_t n_open;
    int64_t seen_ns;  /* up to when clock_s counts */
    double clock_s;   /* of the time in which any was open */
    double done;      /* in all */
    uint64_t n_marks; /* in all */
    struct {
        double clock_s, done;
    } marks[GW_METER_MARKS]; /* the last moments in which anything was done; mark i at i % n */
};

void gw_meter_begin(struct gw_meter *meter, int64_t now_ns);
/* So much was done; whoever it is about is still open. */
void gw_meter_note(struct gw_meter *meter, double done, int64_t now_ns);
void gw_meter_end(struct gw_meter *meter, int64_t now_ns);
/* Time passes, whether or not anything happens. */
void gw_meter_pass(struct gw_meter *meter, int64_t now_ns);

/* The clock's time for one; while nothing was done yet, as long as it has lasted. */
double gw_meter_per_unit_s(const struct gw_meter *meter);

#endif
