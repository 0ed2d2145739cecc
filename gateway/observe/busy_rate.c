#include "gateway/observe/busy_rate.h"

#include <math.h>

#include "common/base/clock.h"

/* A rate is measured over at least so many moments, however long ago they were: one slow moment
 * must not decide it. */
enum { MIN_MARKS = 4 };

static const double lately_s = 4, moment_s = 4.0 / GW_BUSY_RATE_MARKS;

/* A pause before some work is a stall if it exceeds stall_s and stall_factor times the usual time
 * of such work. A rate that has really fallen so far is still followed within a few notes, because
 * each note may multiply the usual time by the factor. */
static const double stall_s = 1, stall_factor = 8;

void gw_busy_rate_pass(struct gw_busy_rate *rate, int64_t now_ns)
{
    if (rate->n_open && now_ns > rate->seen_ns)
        rate->pending_s += baton_seconds(now_ns - rate->seen_ns);
    rate->seen_ns = now_ns;
}

void gw_busy_rate_skip(struct gw_busy_rate *rate, int64_t now_ns)
{
    rate->pending_s = 0;
    rate->seen_ns = now_ns;
}

void gw_busy_rate_begin(struct gw_busy_rate *rate, int64_t now_ns)
{
    gw_busy_rate_pass(rate, now_ns);
    rate->n_open++;
}

void gw_busy_rate_end(struct gw_busy_rate *rate, int64_t now_ns)
{
    gw_busy_rate_pass(rate, now_ns);
    if (!--rate->n_open)
        rate->pending_s = 0;
}

/* The time per unit up to clock_s; units is at least 1, because before a whole unit is done the
 * time so far is a lower bound for one. Measures from the newest mark that is at least lately_s
 * old, or else from the oldest mark. */
static double per_unit_s(const struct gw_busy_rate *rate, double now_s)
{
    double clock_s = 0, done = 0;
    for (uint64_t i = 1; i <= rate->n_marks && i <= GW_BUSY_RATE_MARKS; i++) {
        size_t at = (rate->n_marks - i) % GW_BUSY_RATE_MARKS;
        clock_s = rate->marks[at].clock_s;
        done = rate->marks[at].done;
        if (i > MIN_MARKS && now_s - clock_s >= lately_s)
            break;
        if (i == rate->n_marks)
            clock_s = done = 0; /* no mark was dropped yet: measure from the start */
    }
    done = rate->done - done;
    return (now_s - clock_s) / (done > 1 ? done : 1);
}

/* The time that the work took, without a stall. The first work has no usual time to compare with.
 * After a short pause, as before nearly every token, the comparison is skipped: it would cost a
 * walk over the marks. */
static double taken_s(const struct gw_busy_rate *rate, double done)
{
    if (!rate->n_marks || rate->pending_s <= stall_s)
        return rate->pending_s;
    double usual_s = (done > 1 ? done : 1) * per_unit_s(rate, rate->clock_s);
    return fmin(rate->pending_s, fmax(stall_s, stall_factor * usual_s));
}

/* Events within one moment share a mark, so that the ring of marks reaches back lately_s. */
void gw_busy_rate_note(struct gw_busy_rate *rate, double done, int64_t now_ns)
{
    size_t last = (rate->n_marks - 1) % GW_BUSY_RATE_MARKS; /* not used while n_marks is 0 */
    gw_busy_rate_pass(rate, now_ns);
    rate->clock_s += taken_s(rate, done);
    rate->pending_s = 0;
    rate->done += done;
    if (!rate->n_marks || rate->clock_s - rate->marks[last].clock_s > moment_s) {
        last = rate->n_marks++ % GW_BUSY_RATE_MARKS;
        rate->marks[last].clock_s = rate->clock_s;
    }
    rate->marks[last].done = rate->done;
}

double gw_busy_rate_per_unit_s(const struct gw_busy_rate *rate)
{
    return per_unit_s(rate, rate->clock_s + rate->pending_s);
}
