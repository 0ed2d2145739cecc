#include "gateway/fleet/heartbeat.h"

#include "common/base/clock.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t gw_heartbeat_pause_ns(const struct gw_heartbeat *heartbeat, size_t n_workers)
{
    int64_t pause_ns = heartbeat->per_s ? (int64_t)n_workers * BATON_SECOND / heartbeat->per_s : 0;
    if (heartbeat->silence_ns)
        pause_ns = smaller(pause_ns, heartbeat->silence_ns / GW_DEAD_BEATS);
    return larger(pause_ns, heartbeat->beat_ns);
}

int64_t gw_heartbeat_worker_pause_ns(const struct gw_heartbeat *heartbeat, size_t n_workers,
                                     const struct gw_worker *worker)
{
    int64_t pause_ns = gw_heartbeat_pause_ns(heartbeat, n_workers);
    return larger(smaller(pause_ns, worker->max_beat_ns), heartbeat->beat_ns);
}

/* Rounds down to a multiple of a bunch, so that many workers get the same time. A beat so comes
 * early and never late. */
int64_t gw_heartbeat_due_ns(const struct gw_heartbeat *heartbeat, int64_t pause_ns, int64_t now_ns)
{
    int64_t due_ns = now_ns + pause_ns, bunch_ns = pause_ns / GW_BUNCHES_PER_PAUSE;
    return pause_ns > heartbeat->beat_ns ? due_ns - due_ns % bunch_ns : due_ns;
}

int64_t gw_heartbeat_dead_ns(const struct gw_heartbeat *heartbeat, int64_t pause_ns)
{
    return heartbeat->silence_ns ? heartbeat->silence_ns : GW_DEAD_BEATS * pause_ns;
}
