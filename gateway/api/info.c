#include "gateway/api/info.h"

#include <math.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/obs/prom.h"
#include "gateway/api/answer.h"
#include "gateway/observe/advice.h"
#include "gateway/request/assign.h"

enum { ANSWER_MAX_BYTES = 16 << 20 };

void gw_info_health(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body)
{
    static const char ok[] = "{\"status\":\"ok\"}";
    (void)api;
    (void)body;
    gw_exchange_respond(exchange, 200, "application/json", "", ok, sizeof ok - 1);
}

void gw_info_ready(struct gw_api *api, struct gw_exchange *exchange,
                   const struct baton_json *unused)
{
    size_t n_prefill = gw_fleet_n(api->fleet, BATON__V1__ROLE__ROLE_PREFILL, GW_WORKER_READY);
    size_t n_decode = gw_fleet_n(api->fleet, BATON__V1__ROLE__ROLE_DECODE, GW_WORKER_READY);
    struct baton_buf body;
    (void)unused;
    if (!n_prefill || !n_decode || api->dispatcher->draining) {
        gw_answer_error(exchange, 503, "not_ready",
                        api->dispatcher->draining ? "draining"
                        : n_prefill               ? "no decode worker is ready"
                        : n_decode                ? "no prefill worker is ready"
                                                  : "no prefill and no decode worker is ready");
        return;
    }
    baton_buf_init(&body, ANSWER_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&body);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "status", "ready");
    baton_json_put_string(&out, "model", api->facts->name);
    baton_json_put_uint(&out, "prefill", n_prefill);
    baton_json_put_uint(&out, "decode", n_decode);
    baton_json_close(&out, '}');
    gw_answer_json(exchange, 200, &body);
    baton_buf_fini(&body);
}

/* null in JSON where a worker has not measured it yet. */
static double known(double rate)
{
    return rate > 0 ? rate : NAN;
}

static double prefix_hit_rate(const Baton__V1__Status *status)
{
    return status->prefix_tokens ? (double)status->prefix_hit_tokens / (double)status->prefix_tokens
                                 : NAN;
}

/* A step of n rows takes step_base_s + n step_row_s. */
static void put_cost(struct baton_json_out *out, const Baton__V1__Status *status)
{
    bool is_known = status->step_base_s + status->step_row_s > 0;
    baton_json_put_real(out, "step_base_s", is_known ? status->step_base_s : NAN);
    baton_json_put_real(out, "step_row_s", is_known ? status->step_row_s : NAN);
    baton_json_put_uint(out, "step_max_rows", status->step_max_rows);
}

static void put_worker(struct baton_json_out *out, const struct gw_worker *worker,
                       uint32_t block_tokens)
{
    const Baton__V1__Status *status = &worker->status;
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "id", worker->id);
    baton_json_put_string(out, "role", gw_worker_role_name(worker->role));
    baton_json_put_string(out, "state", gw_worker_state_name(worker->state));
    baton_json_put_uint(out, "pid", worker->pid);
    baton_json_put_string(out, "address", worker->address);
    baton_json_put_string(out, "model", worker->model);
    baton_json_put_string(out, "fingerprint", worker->fingerprint.weights);
    baton_json_put_uint(out, "cores", worker->n_cores);
    baton_json_put_uint(out, "queued", status->n_queued);
    baton_json_put_uint(out, "queued_tokens", status->n_queued_tokens);
    baton_json_put_uint(out, "running", status->n_running);
    baton_json_put_uint(out, "placed", worker->n_routed);
    baton_json_put_uint(out, "active", worker->n_active);
    baton_json_put_uint(out, "kv_block_tokens", block_tokens);
    baton_json_put_uint(out, "kv_blocks_total", status->kv_blocks_total);
    baton_json_put_uint(out, "kv_blocks_free", status->kv_blocks_free);
    baton_json_put_uint(out, "kv_blocks_cached", status->kv_blocks_cached);
    baton_json_put_uint(out, "kv_blocks_reserved", status->kv_blocks_reserved);
    baton_json_put_real(out, "last_step_s", status->last_step_s);
    baton_json_put_real(out, "tokens_per_s", known(status->tokens_per_s));
    put_cost(out, status);
    baton_json_put_real(out, "prompt_tokens_per_s", known(gw_worker_prompt_rate(worker)));
    baton_json_put_real(out, "predicted_wait_s", gw_worker_wait_s(worker));
    baton_json_put_real(out, "prefix_hit_rate", prefix_hit_rate(status));
    baton_json_close(out, '}');
}

static struct gw_advice advise(const struct gw_api *api)
{
    return gw_advice_now(api->fleet, &api->dispatcher->arrivals, baton_now_ns());
}

void gw_info_workers(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused)
{
    struct baton_buf body;
    (void)unused;
    baton_buf_init(&body, ANSWER_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&body);
    baton_json_open(&out, NULL, '{');
    baton_json_open(&out, "workers", '[');
    for (struct gw_worker *worker = gw_worker_list_first(&api->fleet->workers); worker;
         worker = gw_worker_list_next(&api->fleet->workers, worker))
        put_worker(&out, worker, api->fleet->terms.kv_block_tokens);
    baton_json_close(&out, ']');
    struct gw_advice advice = advise(api);
    gw_advice_put(&out, &advice);
    baton_json_close(&out, '}');
    gw_answer_json(exchange, 200, &body);
    baton_buf_fini(&body);
}

/* One figure of every worker: a row of the table below. */
struct worker_figure {
    const char *type, *name, *help;
    double (*read)(const struct gw_worker *worker);
};

#define FIGURE(name, expression)                                                                   \
    static double read_##name(const struct gw_worker *worker)                                      \
    {                                                                                              \
        return (double)(expression);                                                               \
    }
FIGURE(queued, worker->status.n_queued)
FIGURE(queued_tokens, worker->status.n_queued_tokens)
FIGURE(running, worker->status.n_running)
FIGURE(requests_max, worker->status.n_requests_max)
FIGURE(active, worker->n_active)
FIGURE(placed, worker->n_routed)
FIGURE(blocks, worker->status.kv_blocks_total)
FIGURE(blocks_free, worker->status.kv_blocks_free)
FIGURE(blocks_cached, worker->status.kv_blocks_cached)
FIGURE(blocks_reserved, worker->status.kv_blocks_reserved)
FIGURE(last_step, worker->status.last_step_s)
FIGURE(busy, worker->status.busy_s)
FIGURE(rate, worker->status.tokens_per_s)
FIGURE(prompt_rate, gw_worker_prompt_rate(worker))
FIGURE(wait, gw_worker_wait_s(worker))
FIGURE(prefix_tokens, worker->status.prefix_tokens)
FIGURE(prefix_hits, worker->status.prefix_hit_tokens)
FIGURE(start_to_ready, worker->start_to_ready_s)
FIGURE(model_load, worker->model_load_s)
FIGURE(cores, worker->n_cores)
#undef FIGURE

static const struct worker_figure worker_figures[] = {
    {"gauge", "baton_worker_queued_requests", "Requests waiting in the worker.", read_queued},
    {"gauge", "baton_worker_queued_tokens", "Prompt tokens waiting in the worker.",
     read_queued_tokens},
    {"gauge", "baton_worker_running_requests", "Requests being computed.", read_running},
    {"gauge", "baton_worker_requests_max",
     "Most requests, waiting or computed, that were there at once.", read_requests_max},
    {"gauge", "baton_worker_active_requests", "Requests this gateway placed there.", read_active},
    {"counter", "baton_worker_placed_requests_total", "Requests this gateway ever placed there.",
     read_placed},
    {"gauge", "baton_worker_kv_blocks", "KV blocks in all.", read_blocks},
    {"gauge", "baton_worker_kv_blocks_free", "KV blocks free.", read_blocks_free},
    {"gauge", "baton_worker_kv_blocks_cached", "KV blocks free, but kept for prompts alike.",
     read_blocks_cached},
    {"gauge", "baton_worker_kv_blocks_reserved", "KV blocks promised or in use.",
     read_blocks_reserved},
    {"gauge", "baton_worker_last_step_seconds", "Duration of the last step or pass.",
     read_last_step},
    {"counter", "baton_worker_busy_seconds_total", "Time in which its engine computed.", read_busy},
    {"gauge", "baton_worker_tokens_per_second",
     "While it works: prompt tokens computed (prefill), tokens made (decode); 0: not known.",
     read_rate},
    {"gauge", "baton_worker_prompt_tokens_per_second",
     "Rate that predictions about prompts go by; 0: not known.", read_prompt_rate},
    {"gauge", "baton_worker_predicted_wait_seconds",
     "How long a prompt placed there now would wait; NaN: not known.", read_wait},
    {"counter", "baton_worker_prefix_tokens_total",
     "Prompt tokens looked up in the worker's prefix cache.", read_prefix_tokens},
    {"counter", "baton_worker_prefix_hit_tokens_total", "Of these, found.", read_prefix_hits},
    {"gauge", "baton_worker_start_to_ready_seconds", "Process start to model loaded.",
     read_start_to_ready},
    {"gauge", "baton_worker_model_load_seconds", "Time to load the model.", read_model_load},
    {"gauge", "baton_worker_cores", "Cores it may compute on.", read_cores},
};

static void put_workers(struct baton_buf *out, const struct gw_fleet *fleet)
{
    for (size_t i = 0; i < sizeof worker_figures / sizeof worker_figures[0]; i++) {
        const struct worker_figure *figure = &worker_figures[i];
        baton_prom_family(out, figure->name, figure->type, figure->help);
        for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
             worker = gw_worker_list_next(&fleet->workers, worker))
            baton_prom_sample(out, figure->name, figure->read(worker), "role",
                              gw_worker_role_name(worker->role), "worker", worker->id, NULL);
    }
    baton_prom_family(out, "baton_workers", "gauge", "Workers by role and state.");
    for (int state = GW_WORKER_JOINING; state <= GW_WORKER_DRAINING; state++)
        for (int role = BATON__V1__ROLE__ROLE_PREFILL; role <= BATON__V1__ROLE__ROLE_DECODE; role++)
            baton_prom_sample(
                out, "baton_workers",
                (double)gw_fleet_n(fleet, (Baton__V1__Role)role, (enum gw_worker_state)state),
                "role", gw_worker_role_name((Baton__V1__Role)role), "state",
                gw_worker_state_name((enum gw_worker_state)state), NULL);
}

static void put_inbox(struct baton_buf *out, const struct baton_inbox *inbox)
{
    struct baton_inbox_stats stats;
    baton_inbox_get_stats(inbox, &stats);
    baton_prom_family(out, "baton_inbox_messages_total", "counter", "Messages from workers.");
    baton_prom_sample(out, "baton_inbox_messages_total", (double)stats.n_received, NULL);
    baton_prom_family(out, "baton_inbox_bytes_total", "counter", "Bytes of those messages.");
    baton_prom_sample(out, "baton_inbox_bytes_total", (double)stats.n_bytes, NULL);
    baton_prom_family(out, "baton_inbox_rejected_total", "counter",
                      "Messages that were no valid frame, or of no link: their pipe was closed.");
    baton_prom_sample(out, "baton_inbox_rejected_total", (double)stats.n_rejected, NULL);
}

static void put_gauge(struct baton_buf *out, const char *name, const char *help, double value)
{
    baton_prom_family(out, name, "gauge", help);
    baton_prom_sample(out, name, value, NULL);
}

static void put_queue(struct baton_buf *out, const struct gw_dispatcher *dispatcher)
{
    const struct gw_throughput *throughput = &dispatcher->throughput;
    put_gauge(out, "baton_queue_requests", "Requests that wait for a worker.",
              (double)throughput->n_waiting);
    put_gauge(out, "baton_queue_prompt_tokens", "Tokens of their prompts.",
              (double)throughput->n_waiting_tokens);
    put_gauge(out, "baton_queue_wait_seconds",
              "Predicted wait, for a first token, of a request that came now.",
              gw_throughput_wait_s(throughput, 0, 0));
}

static void put_gateway(struct baton_buf *out, const struct gw_api *api)
{
    baton_prom_family(out, "baton_requests_open", "gauge", "Requests by state.");
    for (int state = GW_QUEUED; state <= GW_DECODING; state++)
        baton_prom_sample(out, "baton_requests_open", (double)api->requests->by_state[state].n,
                          "state", gw_state_name((enum gw_state)state), NULL);
    baton_prom_family(out, "baton_colocated_prefills_total", "counter",
                      "Prompts that a decode worker ran itself.");
    baton_prom_sample(out, "baton_colocated_prefills_total",
                      (double)api->dispatcher->routing.n_colocated, NULL);
    put_gauge(out, "baton_handoff_seconds",
              "Mean of first token to context placed, as predictions go by it.",
              api->dispatcher->routing.handoff_s);
    put_queue(out, api->dispatcher);
    put_gauge(out, "baton_http_connections", "Open client connections.",
              (double)gw_http_n_connections(api->server));
    put_gauge(out, "baton_process_uptime_seconds", "Age of the gateway process.",
              baton_process_age_s());
}

void gw_info_metrics(struct gw_api *api, struct gw_exchange *exchange,
                     const struct baton_json *unused)
{
    struct baton_buf body;
    (void)unused;
    baton_buf_init(&body, ANSWER_MAX_BYTES);
    gw_metrics_write(api->metrics, &body);
    put_gateway(&body, api);
    struct gw_advice advice = advise(api);
    gw_advice_write(&advice, &body);
    put_inbox(&body, api->fleet->options.inbox);
    put_workers(&body, api->fleet);
    if (baton_buf_err(&body))
        gw_answer_error(exchange, 500, "internal_error", "the answer is too large");
    else
        gw_exchange_respond(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", "",
                            body.data, body.len);
    baton_buf_fini(&body);
}
