/* The event loop's lag: how late it runs its timers, which is the time that a heartbeat, a deadline
 * or a token waits while the loop does something else.
 *
 * Ownership: embedded in the gateway; the owner of the loop closes the timer with its other
 *            handles.
 * Threading: loop thread.
 * Errors:    start: libuv's code; the buffer's own.
 */
#ifndef BATON_GATEWAY_OBSERVE_LOOP_LAG_H
#define BATON_GATEWAY_OBSERVE_LOOP_LAG_H

#include <uv.h>

#include "common/base/buf.h"
#include "common/obs/hist.h"

enum { GW_LOOP_LAG_PERIOD_MS = 10 };

struct gw_loop_lag {
    uv_timer_t timer;
    int64_t due_ns;
    struct baton_hist hist;
};

/* Samples every GW_LOOP_LAG_PERIOD_MS until the timer is closed. 0, or libuv's error. */
int gw_loop_lag_start(struct gw_loop_lag *lag, uv_loop_t *loop);

/* Adds a sample that was late by late_ns. The samples that fell due meanwhile count too, each with
 * its own delay: otherwise a stop of one second would be one sample among a hundred. */
void gw_loop_lag_note(struct baton_hist *hist, int64_t late_ns);

void gw_loop_lag_write(const struct gw_loop_lag *lag, struct baton_buf *out);

#endif
