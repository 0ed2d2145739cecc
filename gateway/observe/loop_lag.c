#include "gateway/observe/loop_lag.h"

#include "common/base/clock.h"
#include "common/obs/prom.h"

enum { MAX_MISSED = 1000 }; /* ten seconds' worth of samples */

static void on_sample(uv_timer_t *timer);

static int arm(struct gw_loop_lag *lag)
{
    lag->due_ns = baton_now_ns() + GW_LOOP_LAG_PERIOD_MS * BATON_MS;
    return uv_timer_start(&lag->timer, on_sample, GW_LOOP_LAG_PERIOD_MS, 0);
}

void gw_loop_lag_note(struct baton_hist *hist, int64_t late_ns)
{
    const int64_t period_ns = GW_LOOP_LAG_PERIOD_MS * BATON_MS;
    baton_hist_observe(hist, baton_seconds(late_ns));
    for (int i = 0; late_ns > period_ns && i < MAX_MISSED; i++)
        baton_hist_observe(hist, baton_seconds(late_ns -= period_ns));
}

static void on_sample(uv_timer_t *timer)
{
    struct gw_loop_lag *lag = timer->data;
    gw_loop_lag_note(&lag->hist, baton_now_ns() - lag->due_ns);
    (void)arm(lag);
}

int gw_loop_lag_start(struct gw_loop_lag *lag, uv_loop_t *loop)
{
    int err = uv_timer_init(loop, &lag->timer);
    lag->timer.data = lag;
    return err ? err : arm(lag);
}

void gw_loop_lag_write(const struct gw_loop_lag *lag, struct baton_buf *out)
{
    baton_prom_family(out, "baton_loop_lag_seconds", "histogram",
                      "How late the gateway's event loop ran a timer of 10 ms.");
    baton_prom_hist(out, "baton_loop_lag_seconds", &lag->hist, NULL, NULL);
}
