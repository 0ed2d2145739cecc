#include "gateway/api/routes/drain.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "gateway/api/answer.h"

enum { ANSWER_MAX_BYTES = 4 << 10 };

/* "/workers/{id}/drain" */
static struct gw_worker *named_by(const struct gw_api *api, const char *path)
{
    const char *id = path + sizeof "/workers/" - 1;
    size_t n = strcspn(id, "/");
    struct gw_worker *worker = gw_worker_list_first(&api->fleet->workers);
    while (worker && (strlen(worker->id) != n || memcmp(worker->id, id, n) != 0))
        worker = gw_worker_list_next(&api->fleet->workers, worker);
    return worker;
}

static void answer(struct gw_exchange *exchange, const struct gw_worker *worker)
{
    struct baton_buf body;
    baton_buf_init(&body, ANSWER_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&body);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "id", worker->id);
    baton_json_put_string(&out, "role", gw_worker_role_name(worker->role));
    baton_json_put_string(&out, "state", gw_worker_state_name(worker->state));
    baton_json_put_uint(&out, "active", worker->n_active);
    baton_json_close(&out, '}');
    gw_answer_json(exchange, 202, &body);
    baton_buf_fini(&body);
}

void gw_drain_worker(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused)
{
    struct gw_worker *worker = named_by(api, gw_exchange_path(exchange));
    (void)unused;
    if (!worker) {
        gw_answer_error(exchange, 404, "not_found", "no such worker is here: see GET /workers");
        return;
    }
    if (worker->state != GW_WORKER_DRAINING) {
        baton_log(BATON_LOG_INFO, "drain_asked", BATON_S("worker", worker->id),
                  BATON_S("peer", gw_exchange_peer(exchange)));
        gw_fleet_drain(api->fleet, worker, "asked to drain");
    }
    answer(exchange, worker);
}
