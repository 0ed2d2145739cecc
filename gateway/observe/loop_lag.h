/* How late the event loop runs its timers: what a heartbeat, a deadline or a token waits for while
 * the loop does something else.
 *
 * Ownership: embedded in the gateway; whoever closes the loop's handles closes the timer.
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

/* A sample was late by late_ns. The samples that fell due meanwhile count too, each with its own
 * delay: otherwise one stop of a second would be one sample among a hundred. */
void gw_loop_lag_note(struct baton_hist *hist, int64_t late_ns);

void gw_loop_lag_write(const struct gw_loop_lag *lag, struct baton_buf *out);

#endif
