#include "gateway/api/routes/health.h"

#include <math.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"
#include "gateway/api/listing.h"
#include "gateway/routing/needs.h"

/* A tick comes every 25 ms; if one is this late, the loop is overloaded or starved. */
static const double late_tick_s = 0.5;

/* One check. age_s: the age of its evidence; NaN: there is none yet. */
struct check {
    const char *name;
    bool ok;
    double age_s;
};

/* model: whose check it is; NULL: there is only one model. */
static void put_check(struct baton_json_out *out, const struct check *check, const char *model,
                      bool *all_ok)
{
    baton_json_open(out, NULL, '{');
    if (model)
        baton_json_put_string(out, "model", model);
    baton_json_put_string(out, "name", check->name);
    baton_json_put_bool(out, "ok", check->ok);
    baton_json_put_real(out, "age_s", check->age_s);
    baton_json_close(out, '}');
    *all_ok &= check->ok;
}

/* The evidence for a role is the last message of any of its READY workers. */
static struct check check_role(const struct gw_fleet *fleet, Baton__V1__Role role, int64_t now_ns)
{
    double age_s = NAN;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (worker->role == role && worker->state == GW_WORKER_READY)
            age_s = fmin(age_s, baton_seconds(now_ns - baton_link_heard_ns(worker->link)));
    return (struct check){gw_worker_role_name(role), !isnan(age_s), age_s};
}

static bool is_troubled(const struct gw_worker *worker)
{
    return worker->state == GW_WORKER_SUSPECT || worker->state == GW_WORKER_STALLED ||
           worker->state == GW_WORKER_UNHEALTHY;
}

/* Checks for workers that are silent, stalled or unhealthy; the age is that of the oldest problem,
 * else 0. */
static struct check check_workers(const struct gw_fleet *fleet, int64_t now_ns)
{
    struct check check = {"workers", true, 0};
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        if (!is_troubled(worker))
            continue;
        check.ok = false;
        check.age_s = fmax(check.age_s, baton_seconds(now_ns - worker->state_ns));
    }
    return check;
}

static struct check check_paths(const struct gw_cut_paths *cut, int64_t now_ns)
{
    double age_s = 0;
    for (size_t i = 0; i < cut->n; i++)
        age_s = fmax(age_s, baton_seconds(now_ns - cut->paths[i].since_ns));
    return (struct check){"paths", !cut->n, age_s};
}

static struct check check_loop(const struct gw_fleet *fleet, int64_t now_ns)
{
    double age_s = baton_seconds(now_ns - fleet->ticked_ns);
    return (struct check){"loop", age_s < late_tick_s, age_s};
}

/* The age is the wait of the first request in the queue. It is ok to wait for capacity, but not for
 * a role without workers. */
static struct check check_queue(const struct gw_api *api, int64_t now_ns)
{
    const struct gw_request *first =
        gw_request_list_first(gw_lifecycle_list(&api->dispatcher->lifecycle, GW_QUEUED));
    bool is_awaiting = first && gw_needs_awaits_worker(&api->dispatcher->routing, first);
    return (struct check){"queue", !is_awaiting,
                          first ? baton_seconds(now_ns - first->queued_ns) : 0};
}

static void put_checks(struct baton_json_out *out, const struct gw_api *api, int64_t now_ns,
                       bool *all_ok)
{
    const char *model = api->served->n > 1 ? api->names->list[0] : NULL;
    const struct check checks[] = {
        check_loop(api->fleet, now_ns),
        check_role(api->fleet, BATON__V1__ROLE__ROLE_PREFILL, now_ns),
        check_role(api->fleet, BATON__V1__ROLE__ROLE_DECODE, now_ns),
        check_workers(api->fleet, now_ns),
        check_paths(&api->dispatcher->routing.cut_paths, now_ns),
        check_queue(api, now_ns),
        {"accepting", !api->dispatcher->admission.draining, 0},
    };
    for (size_t i = 0; i < BATON_N_OF(checks); i++) /* a fleet of encoders has no decode worker */
        if (!api->facts->is_encoder || strcmp(checks[i].name, "decode") != 0)
            put_check(out, &checks[i], model, all_ok);
}

void gw_live(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    static const char ok[] = "{\"status\":\"ok\"}";
    (void)api;
    (void)body;
    gw_exchange_respond(exchange, 200, "application/json", "", ok, sizeof ok - 1);
}

void gw_health(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *unused)
{
    struct gw_answer answer;
    struct gw_served models;
    char value[GW_URL_PART_BYTES];
    bool all_ok = true;
    if (strcmp(gw_query_value(exchange, "detail", value), "1") != 0) {
        gw_live(api, exchange, unused);
        return;
    }
    gw_models_asked_for(api, exchange, &models);
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "status", "ok");
    baton_json_open(&answer.out, "checks", '[');
    for (size_t i = 0; i < models.n; i++)
        put_checks(&answer.out, models.models[i], baton_now_ns(), &all_ok);
    baton_json_close(&answer.out, ']');
    baton_json_put_bool(&answer.out, "all_ok", all_ok);
    gw_answer_close(&answer, exchange, 200);
}
