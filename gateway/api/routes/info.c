#include "gateway/api/routes/info.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/version.h"
#include "common/obs/prom.h"
#include "gateway/api/access/access.h"
#include "gateway/api/access/exposure.h"
#include "gateway/api/answer.h"
#include "gateway/api/responses/store.h"
#include "gateway/api/routes/bodies.h"
#include "gateway/api/routes/events.h"
#include "gateway/api/streams/streams.h"
#include "gateway/observe/advice.h"
#include "gateway/observe/loop_lag.h"
#include "gateway/observe/worker_metrics.h"

enum { METRICS_MAX_BYTES = 16 << 20 };

void gw_info_ready(struct gw_api *api, struct gw_exchange *exchange,
                   const struct baton_json *unused)
{
    size_t n_prefill = gw_fleet_n(api->fleet, BATON__V1__ROLE__ROLE_PREFILL, GW_WORKER_READY);
    size_t n_decode = gw_fleet_n(api->fleet, BATON__V1__ROLE__ROLE_DECODE, GW_WORKER_READY);
    struct gw_answer answer;
    (void)unused;
    /* Stricter than admission, which also waits for a role and colocates prompts: a load balancer
     * should prefer a gateway with a complete fleet. */
    bool lacks_decode = !n_decode && !api->facts->is_encoder; /* which generate no tokens */
    if (!n_prefill || lacks_decode || api->dispatcher->admission.draining) {
        gw_answer_error(exchange, 503, "not_ready",
                        api->dispatcher->admission.draining ? "draining"
                        : n_prefill                         ? "no decode worker is ready"
                        : !lacks_decode                     ? "no prefill worker is ready"
                                        : "no prefill and no decode worker is ready");
        return;
    }
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "status", "ready");
    baton_json_put_string(&answer.out, "model", api->names->list[0]);
    baton_json_put_uint(&answer.out, "prefill", n_prefill);
    baton_json_put_uint(&answer.out, "decode", n_decode);
    baton_json_open(&answer.out, "warnings", '[');
    for (size_t i = 0; i < api->exposure->n; i++)
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
    baton_json_open(out, "cut_paths", '[');
    for (size_t i = 0; i < cut->n; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_string(out, "prefill", name_of(api->fleet, cut->paths[i].prefill));
        baton_json_put_string(out, "decode", name_of(api->fleet, cut->paths[i].decode));
        baton_json_put_real(out, "since_s", baton_seconds(now_ns - cut->paths[i].since_ns));
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

void gw_info_workers(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused)
{
    struct gw_answer answer;
    (void)unused;
    gw_answer_open(&answer);
    gw_worker_metrics_put(&answer.out, api->fleet, gw_access_is_operator(api->access, exchange));
    put_cut_paths(&answer.out, api);
    struct gw_advice advice = advise(api);
    gw_advice_put(&answer.out, &advice);
    gw_answer_close(&answer, exchange, 200);
}

static void put_gauge(struct baton_buf *out, const char *name, const char *help, double value)
{
    baton_prom_family(out, name, "gauge", help);
    baton_prom_sample(out, name, value, NULL);
}

static void put_gateway(struct baton_buf *out, const struct gw_api *api)
{
    baton_prom_family(out, "baton_requests_open", "gauge", "Requests by state.");
    for (int state = GW_QUEUED; state <= GW_PREEMPTED; state++)
        baton_prom_sample(out, "baton_requests_open", (double)api->requests->by_state[state].n,
                          "state", gw_state_name((enum gw_state)state), NULL);
    baton_prom_family(out, "baton_split_prefills_total", "counter",
                      "Prompts that several prefill workers computed together.");
    baton_prom_sample(out, "baton_split_prefills_total", (double)api->dispatcher->routing.n_split,
                      NULL);
    baton_prom_family(out, "baton_colocated_prefills_total", "counter",
                      "Prompts that a decode worker ran itself.");
    baton_prom_sample(out, "baton_colocated_prefills_total",
                      (double)api->dispatcher->routing.n_colocated, NULL);
    put_gauge(out, "baton_cut_paths",
              "Pairs of a prefill and a decode worker that do not reach each other.",
              (double)api->dispatcher->routing.cut_paths.n);
    baton_prom_family(out, "baton_path_cuts_total", "counter", "How often such a pair was found.");
    baton_prom_sample(out, "baton_path_cuts_total",
                      (double)api->dispatcher->routing.cut_paths.n_cuts, NULL);
    put_gauge(out, "baton_handoff_seconds",
              "Mean time from first token to context received, which predictions use.",
              api->dispatcher->routing.handoff_s);
    gw_metrics_write_queue(&api->dispatcher->lifecycle.throughput, api->requests, out);
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
}

void gw_info_metrics(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused)
{
    struct baton_buf body;
    (void)unused;
    baton_buf_init(&body, METRICS_MAX_BYTES);
    gw_metrics_write(api->metrics, &body);
    put_gateway(&body, api);
    struct gw_advice advice = advise(api);
    gw_advice_write(&advice, &body);
    gw_metrics_write_inbox(api->fleet->options.inbox, &body);
    gw_metrics_write_hellos(&api->fleet->hellos, &body);
    gw_worker_metrics_write(&body, api->fleet);
    if (baton_buf_err(&body))
        gw_answer_error(exchange, 500, "internal_error", "the answer is too large");
    else
        gw_exchange_respond(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", "",
                            body.data, body.len);
    baton_buf_fini(&body);
}
