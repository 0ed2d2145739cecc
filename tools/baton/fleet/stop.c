/* The orderly stop of a fleet: the gateway, then the workers, each with a time limit. */
#include <signal.h>

#include "common/base/log.h"
#include "tools/baton/fleet/supervisor_parts.h"

void bt_signal_processes(const struct bt_supervisor *sv, int number, int from, int to)
{
    for (int i = from; i < to; i++)
        if (sv->processes[i].pid)
            (void)kill(sv->processes[i].pid, number);
}

static bool is_any_running(const struct bt_supervisor *sv, int from, int to)
{
    for (int i = from; i < to; i++)
        if (sv->processes[i].pid)
            return true;
    return false;
}

static void on_stop_timeout(uv_timer_t *timer)
{
    struct bt_supervisor *sv = timer->data;
    /* The workers get their own limit once the gateway is gone. */
    int to = sv->phase == BT_STOPPING_GATEWAY ? 1 : sv->n;
    for (int i = 0; i < to; i++)
        if (sv->processes[i].pid)
            baton_log(BATON_LOG_WARN, "process_killed",
                      BATON_S("name", sv->processes[i].command->name),
                      BATON_F("not_stopped_in_s", sv->supervision->fleet->file.stop_timeout_s));
    bt_signal_processes(sv, SIGKILL, 0, to);
}

static void arm_stop_timeout(struct bt_supervisor *sv)
{
    double seconds = sv->supervision->fleet->file.stop_timeout_s;
    (void)uv_timer_start(&sv->stop_timeout, on_stop_timeout, (uint64_t)(seconds * 1e3), 0);
}

void bt_advance_stop(struct bt_supervisor *sv)
{
    if (sv->phase == BT_STOPPING_GATEWAY && !sv->processes[0].pid) {
        sv->phase = BT_STOPPING_WORKERS;
        bt_signal_processes(sv, SIGTERM, 1, sv->n);
        arm_stop_timeout(sv);
    }
    if (sv->phase == BT_STOPPING_WORKERS && !is_any_running(sv, 0, sv->n)) {
        sv->phase = BT_OVER;
        uv_stop(&sv->loop);
    }
}

void bt_begin_stop(struct bt_supervisor *sv)
{
    sv->phase = BT_STOPPING_GATEWAY;
    (void)uv_timer_stop(&sv->poll);
    (void)uv_timer_stop(&sv->patience);
    /* A restart that is due must not bring a process back. */
    for (int i = 0; i < sv->n; i++)
        (void)uv_timer_stop(&sv->processes[i].again);
    bt_signal_processes(sv, SIGTERM, 0, 1);
    arm_stop_timeout(sv);
    bt_advance_stop(sv);
}

void bt_on_stop_request(struct bt_supervisor *sv, const char *who)
{
    if (sv->phase >= BT_STOPPING_GATEWAY) {
        baton_log(BATON_LOG_WARN, "fleet_killed", BATON_S("by", who));
        bt_signal_processes(sv, SIGKILL, 0, sv->n);
        return;
    }
    if (sv->phase == BT_STARTING)
        sv->err = baton_fail(&sv->why, BATON_CANCELED, "stopped by %s before it was ready", who);
    baton_log(BATON_LOG_INFO, "fleet_stopping", BATON_S("by", who));
    bt_begin_stop(sv);
}
