#include "gateway/api/routes/drain.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "gateway/api/answer.h"
#include "gateway/api/path_param.h"

/* "/workers/{id}/drain" */
static struct gw_worker *named_by(const struct gw_api *api, const char *path,
                                  struct gw_fleet **fleet)
{
    char text[GW_PATH_PARAM_BYTES];
    const char *at = path + sizeof "/workers/" - 1;
    const char *id = gw_path_param(at, strcspn(at, "/"), text);
    return gw_fleets_find(&api->served->fleets, id, fleet);
}

static void answer(struct gw_exchange *exchange, const struct gw_worker *worker)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "id", worker->id);
    baton_json_put_string(&answer.out, "role", gw_worker_role_name(worker->role));
    baton_json_put_string(&answer.out, "state", gw_worker_state_name(worker->state));
    baton_json_put_uint(&answer.out, "active", worker->n_active);
    gw_answer_close(&answer, exchange, 202);
}

void gw_drain_worker(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused)
{
    struct gw_fleet *fleet = NULL;
    struct gw_worker *worker = named_by(api, gw_exchange_path(exchange), &fleet);
    (void)unused;
    if (!worker) {
        gw_answer_error(exchange, 404, "not_found", "no such worker: see GET /workers");
        return;
    }
    if (worker->state != GW_WORKER_DRAINING) {
        baton_log(BATON_LOG_INFO, "drain_asked", BATON_S("worker", worker->id),
                  BATON_S("peer", gw_exchange_peer(exchange)));
        gw_fleet_drain(fleet, worker, "asked to drain");
    }
    answer(exchange, worker);
}
