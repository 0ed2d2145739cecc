#include "gateway/api/routes/drain.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "gateway/api/answer.h"
#include "gateway/api/path_param.h"

/* "/workers/{id}/drain" */
static struct gw_worker *named_by(const struct gw_api *api, const char *path)
{
    char text[GW_PATH_PARAM_BYTES];
    const char *at = path + sizeof "/workers/" - 1;
    const char *id = gw_path_param(at, strcspn(at, "/"), text);
    struct gw_worker *worker = gw_worker_list_first(&api->fleet->workers);
    while (worker && strcmp(worker->id, id) != 0)
        worker = gw_worker_list_next(&api->fleet->workers, worker);
    return worker;
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
    struct gw_worker *worker = named_by(api, gw_exchange_path(exchange));
    (void)unused;
    if (!worker) {
        gw_answer_error(exchange, 404, "not_found", "no such worker: see GET /workers");
        return;
    }
    if (worker->state != GW_WORKER_DRAINING) {
        baton_log(BATON_LOG_INFO, "drain_asked", BATON_S("worker", worker->id),
                  BATON_S("peer", gw_exchange_peer(exchange)));
        gw_fleet_drain(api->fleet, worker, "asked to drain");
    }
    answer(exchange, worker);
}
