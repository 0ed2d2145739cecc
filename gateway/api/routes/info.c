#include "gateway/api/routes/info.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/version.h"
#include "common/obs/prom.h"
#include "gateway/api/access/access.h"
#include "gateway/api/access/exposure.h"
#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"
#include "gateway/api/responses/store.h"
#include "gateway/api/routes/bodies.h"
#include "gateway/api/routes/events.h"
#include "gateway/api/streams/streams.h"
#include "gateway/observe/advice.h"
#include "gateway/observe/loop_lag.h"
#include "gateway/observe/model_label.h"
#include "gateway/observe/worker_metrics.h"

enum { METRICS_MAX_BYTES = 16 << 20 };

/* The workers of a model that are READY. */
struct readiness {
    size_t n_prefill, n_decode;
    bool lacks_decode, is_ready;
};

/* Stricter than admission, which also waits for a role and colocates prompts: a load balancer
 * should prefer a gateway with a complete fleet. */
static struct readiness readiness_of(const struct gw_api *api)
{
    struct readiness now = {
        .n_prefill = gw_fleet_n(api->fleet, BATON__V1__ROLE__ROLE_PREFILL, GW_WORKER_READY),
        .n_decode = gw_fleet_n(api->fleet, BATON__V1__ROLE__ROLE_DECODE, GW_WORKER_READY)};
    now.lacks_decode = !now.n_decode && !api->facts->is_encoder; /* which generate no tokens */
    now.is_ready = now.n_prefill && !now.lacks_decode && !api->dispatcher->admission.draining;
    return now;
}

static const char *why_not(const struct gw_api *api, const struct readiness *now)
{
    return api->dispatcher->admission.draining ? "draining"
           : now->n_prefill                    ? "no decode worker is ready"
           : !now->lacks_decode                ? "no prefill worker is ready"
                                               : "no prefill and no decode worker is ready";
}

static void put_readiness(struct baton_json_out *out, const struct gw_api *api,
                          const struct readiness *now)
{
    baton_json_put_string(out, "model", api->names->list[0]);
    baton_json_put_uint(out, "prefill", now->n_prefill);
    baton_json_put_uint(out, "decode", now->n_decode);
}

/* Puts each of several models, with whether it is ready. */
static void put_models(struct baton_json_out *out, const struct gw_served *models)
{
    baton_json_open(out, "models", '[');
    for (size_t i = 0; i < models->n; i++) {
        struct readiness now = readiness_of(models->models[i]);
        baton_json_open(out, NULL, '{');
        put_readiness(out, models->models[i], &now);
        baton_json_put_bool(out, "ready", now.is_ready);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

/* A gateway of several models is ready when one of them is: the others' workers may be loading, or
 * gone, and must not take it out of service. */
void gw_info_ready(struct gw_api *api, struct gw_exchange *exchange,
                   const struct baton_json *unused)
{
    struct gw_answer answer;
    struct gw_served models;
    size_t i = 0;
    (void)unused;
    gw_models_asked_for(api, exchange, &models);
    while (i + 1 < models.n && !readiness_of(models.models[i]).is_ready)
        i++;
    struct readiness now = readiness_of(models.models[i]);
    if (!now.is_ready) {
        gw_answer_error(exchange, 503, "not_ready", why_not(models.models[i], &now));
        return;
    }
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "status", "ready");
    put_readiness(&answer.out, models.models[i], &now);
    if (api->served->n > 1)
        put_models(&answer.out, &models);
    baton_json_open(&answer.out, "warnings", '[');
    for (i = 0; i < api->exposure->n; i++)
        baton_json_put_string(&answer.out, NULL, api->exposure->warnings[i]);
    baton_json_close(&answer.out, ']');
    gw_answer_close(&answer, exchange, 200);
}

void gw_info_version(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused)
{
    struct gw_answer answer;
    (void)api;
    (void)unused;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "version", baton_release);
    baton_json_put_string(&answer.out, "commit", baton_commit);
    gw_answer_close(&answer, exchange, 200);
}

static struct gw_advice advise(const struct gw_api *api)
{
    return gw_advice_now(api->fleet, &api->dispatcher->lifecycle.arrivals, baton_now_ns());
}

static const char *name_of(const struct gw_fleet *fleet, uint32_t tag)
{
    struct gw_worker *worker = gw_worker_list_first(&fleet->workers);
    while (worker && worker->tag != tag)
        worker = gw_worker_list_next(&fleet->workers, worker);
    return worker ? worker->id : "";
}

static void put_cut_paths(struct baton_json_out *out, const struct gw_api *api)
{
    const struct gw_cut_paths *cut = &api->dispatcher->routing.cut_paths;
    int64_t now_ns = baton_now_ns();
    for (size_t i = 0; i < cut->n; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_string(out, "prefill", name_of(api->fleet, cut->paths[i].prefill));
        baton_json_put_string(out, "decode", name_of(api->fleet, cut->paths[i].decode));
        baton_json_put_real(out, "since_s", baton_seconds(now_ns - cut->paths[i].since_ns));
        baton_json_close(out, '}');
    }
}

/* Puts the advice for each of several models. */
static void put_advices(struct baton_json_out *out, const struct gw_served *models)
{
    baton_json_open(out, "models", '[');
    for (size_t i = 0; i < models->n; i++) {
        struct gw_advice advice = advise(models->models[i]);
        baton_json_open(out, NULL, '{');
        baton_json_put_string(out, "model", models->models[i]->names->list[0]);
        gw_advice_put(out, &advice);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

void gw_info_workers(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused)
{
    struct gw_answer answer;
    struct gw_served models;
    bool is_operator = gw_access_is_operator(api->access, exchange);
    (void)unused;
    gw_models_asked_for(api, exchange, &models);
    gw_answer_open(&answer);
    baton_json_open(&answer.out, "workers", '[');
    for (size_t i = 0; i < models.n; i++)
        gw_worker_metrics_put(&answer.out, models.models[i]->fleet,
                              models.models[i]->names->list[0], is_operator);
    baton_json_close(&answer.out, ']');
    baton_json_open(&answer.out, "cut_paths", '[');
    for (size_t i = 0; i < models.n; i++)
        put_cut_paths(&answer.out, models.models[i]);
    baton_json_close(&answer.out, ']');
    struct gw_advice advice = advise(models.models[0]);
    gw_advice_put(&answer.out, &advice);
    if (api->served->n > 1)
        put_advices(&answer.out, &models);
    gw_answer_close(&answer, exchange, 200);
}

static void put_gauge(struct baton_buf *out, const char *name, const char *help, double value)
{
    baton_prom_family(out, name, "gauge", help);
    baton_prom_sample(out, name, value, NULL);
}

/* Writes what each model has of its own: the families are the same for all. */
static void write_model(struct baton_buf *out, const struct gw_api *api)
{
    const struct gw_routing *routing = &api->dispatcher->routing;
    struct gw_advice advice = advise(api);
    gw_metrics_write(api->metrics, out);
    baton_prom_family(out, "baton_requests_open", "gauge", "Requests by state.");
    for (int state = GW_QUEUED; state <= GW_PREEMPTED; state++)
        baton_prom_sample(out, "baton_requests_open", (double)api->requests->by_state[state].n,
                          "state", gw_state_name((enum gw_state)state), NULL);
    baton_prom_family(out, "baton_split_prefills_total", "counter",
                      "Prompts that several prefill workers computed together.");
    baton_prom_sample(out, "baton_split_prefills_total", (double)routing->n_split, NULL);
    baton_prom_family(out, "baton_colocated_prefills_total", "counter",
                      "Prompts that a decode worker ran itself.");
    baton_prom_sample(out, "baton_colocated_prefills_total", (double)routing->n_colocated, NULL);
    put_gauge(out, "baton_cut_paths",
              "Pairs of a prefill and a decode worker that do not reach each other.",
              (double)routing->cut_paths.n);
    baton_prom_family(out, "baton_path_cuts_total", "counter", "How often such a pair was found.");
    baton_prom_sample(out, "baton_path_cuts_total", (double)routing->cut_paths.n_cuts, NULL);
    put_gauge(out, "baton_handoff_seconds",
              "Mean time from first token to context received, which predictions use.",
              routing->handoff_s);
    gw_metrics_write_queue(&api->dispatcher->lifecycle.throughput, api->requests, out);
    gw_advice_write(&advice, out);
    gw_worker_metrics_write(out, api->fleet);
}

/* Writes the models' metrics, whose samples have the label `model` if there are several. */
static enum baton_err write_models(struct baton_buf *out, const struct gw_served *served)
{
    struct gw_model_text texts[GW_MAX_MODELS] = {{0}};
    struct baton_buf own[GW_MAX_MODELS];
    enum baton_err err = BATON_OK;
    if (served->n == 1) {
        write_model(out, served->models[0]);
        return BATON_OK;
    }
    for (size_t i = 0; i < served->n; i++) {
        baton_buf_init(&own[i], METRICS_MAX_BYTES);
        write_model(&own[i], served->models[i]);
        texts[i] = (struct gw_model_text){.model = served->models[i]->names->list[0],
                                          .text = baton_buf_text(&own[i])};
        err = err ? err : baton_buf_err(&own[i]);
    }
    if (!err)
        gw_model_label_join(out, texts, served->n);
    for (size_t i = 0; i < served->n; i++)
        baton_buf_fini(&own[i]);
    return err;
}

static void write_hellos(struct baton_buf *out, const struct gw_fleets *fleets)
{
    struct gw_hello_stats sum = {0};
    for (size_t i = 0; i < fleets->n; i++) {
        sum.n_strangers += fleets->list[i]->hellos.n_strangers;
        sum.n_refused += fleets->list[i]->hellos.n_refused;
        sum.n_dropped += fleets->list[i]->hellos.n_dropped;
    }
    gw_metrics_write_hellos(&sum, out);
}

/* Writes what all models have in common. */
static void write_gateway(struct baton_buf *out, const struct gw_api *api)
{
    gw_metrics_write_http(api->server, out);
    gw_access_write_metrics(api->access, out);
    gw_bodies_write_metrics(api->bodies, out);
    put_gauge(out, "baton_stored_responses", "Responses of POST /v1/responses that are kept.",
              (double)gw_response_store_n(api->responses));
    put_gauge(out, "baton_stored_response_bytes", "Estimate of the memory that they take.",
              (double)gw_response_store_bytes(api->responses));
    gw_streams_write_metrics(api->streams, out);
    gw_events_write_metrics(api->events, out);
    if (api->spans)
        gw_spans_write_metrics(api->spans, out);
    gw_loop_lag_write(api->lag, out);
    put_gauge(out, "baton_process_uptime_seconds", "Age of the gateway process.",
              baton_process_age_s());
    gw_metrics_write_inbox(api->fleet->options.inbox, out);
    write_hellos(out, &api->served->fleets);
}

void gw_info_metrics(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused)
{
    struct baton_buf body;
    (void)unused;
    baton_buf_init(&body, METRICS_MAX_BYTES);
    enum baton_err err = write_models(&body, api->served);
    write_gateway(&body, api);
    if (err || baton_buf_err(&body))
        gw_answer_error(exchange, 500, "internal_error", "the answer is too large");
    else
        gw_exchange_respond(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", "",
                            body.data, body.len);
    baton_buf_fini(&body);
}
