#include "gateway/observe/worker_metrics.h"

#include <math.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/obs/prom.h"

/* How a figure is written as JSON. Prometheus has only one kind of number. */
enum kind {
    COUNT,
    REAL,
    RATE,       /* null while it is 0, which means unknown */
    METRIC_ONLY /* not in GET /workers */
};

static double prefix_hit_rate(const Baton__V1__Status *status)
{
    return status->prefix_tokens ? (double)status->prefix_hit_tokens / (double)status->prefix_tokens
                                 : NAN;
}

/* A step of n rows takes step_base_s + n step_row_s. Both are known or neither, and one may be
 * 0. */
static double step_cost(const Baton__V1__Status *status, double cost_s)
{
    return status->step_base_s + status->step_row_s > 0 ? cost_s : NAN;
}

/* X(JSON's key, kind, metric's type, its name or NULL, its help, value of `worker`) */
#define FIGURES(X)                                                                                 \
    X(cores, COUNT, "gauge", "baton_worker_cores", "Cores it may compute on.", worker->n_cores)    \
    X(queued, COUNT, "gauge", "baton_worker_queued_requests", "Requests waiting in the worker.",   \
      status->n_queued)                                                                            \
    X(queued_tokens, COUNT, "gauge", "baton_worker_queued_tokens",                                 \
      "Prompt tokens waiting in the worker.", status->n_queued_tokens)                             \
    X(running, COUNT, "gauge", "baton_worker_running_requests", "Requests being computed.",        \
      status->n_running)                                                                           \
    X(requests_max, METRIC_ONLY, "gauge", "baton_worker_requests_max",                             \
      "Most requests, waiting or computed, that were there at once.", status->n_requests_max)      \
    X(routed, COUNT, "counter", "baton_worker_routed_requests_total",                              \
      "Requests that this gateway has routed there.", worker->n_routed)                            \
    X(active, COUNT, "gauge", "baton_worker_active_requests",                                      \
      "Requests of this gateway that are there now.", worker->n_active)                            \
    X(kv_blocks_total, COUNT, "gauge", "baton_worker_kv_blocks", "KV blocks of the pool.",         \
      status->kv_blocks_total)                                                                     \
    X(kv_blocks_free, COUNT, "gauge", "baton_worker_kv_blocks_free", "KV blocks free.",            \
      status->kv_blocks_free)                                                                      \
    X(kv_blocks_cached, COUNT, "gauge", "baton_worker_kv_blocks_cached",                           \
      "KV blocks free, but kept for prompts with the same prefix.", status->kv_blocks_cached)      \
    X(kv_blocks_reserved, COUNT, "gauge", "baton_worker_kv_blocks_reserved",                       \
      "KV blocks reserved or in use.", status->kv_blocks_reserved)                                 \
    X(kv_states_total, COUNT, "gauge", "baton_worker_kv_states",                                   \
      "States of the pool, for models whose layers keep one.", status->kv_states_total)            \
    X(kv_states_free, COUNT, "gauge", "baton_worker_kv_states_free",                               \
      "States that no sequence has set aside.", status->kv_states_free)                            \
    X(kv_states_cached, COUNT, "gauge", "baton_worker_kv_states_cached",                           \
      "States free, but saved for prompts with the same prefix.", status->kv_states_cached)        \
    X(weight_bytes, COUNT, "gauge", "baton_worker_weight_bytes",                                   \
      "Bytes of its weights, which the workers of a host share.", status->weight_bytes)            \
    X(kv_cap_bytes, COUNT, "gauge", "baton_worker_kv_cap_bytes",                                   \
      "Most bytes that its KV cache takes.", status->kv_cap_bytes)                                 \
    X(kv_backed_bytes, COUNT, "gauge", "baton_worker_kv_backed_bytes",                             \
      "Bytes of its KV cache that are backed by memory.", status->kv_backed_bytes)                 \
    X(kv_used_bytes, COUNT, "gauge", "baton_worker_kv_used_bytes",                                 \
      "Bytes of the KV blocks that requests hold.", status->kv_used_bytes)                         \
    X(kv_backing_failures, COUNT, "counter", "baton_worker_kv_backing_failures_total",             \
      "How often there was no memory for more KV blocks.", status->kv_backing_failures)            \
    X(kv_account_faults, COUNT, "counter", "baton_worker_kv_account_faults_total",                 \
      "KV blocks found with a wrong owner: an error of the program.", status->kv_account_faults)   \
    X(contexts_shared, COUNT, "counter", "baton_worker_contexts_shared_total",                     \
      "Contexts that it copied out of prefill workers' memory.", status->n_contexts_shared)        \
    X(contexts_wired, COUNT, "counter", "baton_worker_contexts_wired_total",                       \
      "Contexts that it received over a link, in part or as a whole.", status->n_contexts_wired)   \
    X(last_step_s, REAL, "gauge", "baton_worker_last_step_seconds", "Duration of the last step.",  \
      status->last_step_s)                                                                         \
    X(busy_s, METRIC_ONLY, "counter", "baton_worker_busy_seconds_total",                           \
      "Time in which its engine computed.", status->busy_s)                                        \
    X(stalled_s, REAL, "gauge", "baton_worker_stalled_seconds",                                    \
      "Time for which its engine, which has work, has computed nothing; 0: it is not stalled.",    \
      status->stalled_s)                                                                           \
    X(stalls, COUNT, "counter", "baton_worker_stalls_total", "How often its engine stalled.",      \
      worker->n_stalls)                                                                            \
    X(canaries, COUNT, "counter", "baton_worker_canaries_total",                                   \
      "Fixed tokens that its idle engine computed, to check for the same results as at start.",    \
      status->n_canaries)                                                                          \
    X(canary_failures, COUNT, "counter", "baton_worker_canary_failures_total",                     \
      "Canaries with other results: broken memory, weights or processor.",                         \
      status->n_canary_failures)                                                                   \
    X(inbox_rejected, COUNT, "counter", "baton_worker_inbox_rejected_total",                       \
      "Messages that its inboxes rejected.", status->n_inbox_rejected)                             \
    X(strangers_ended, COUNT, "counter", "baton_worker_strangers_ended_total",                     \
      "Connections to its inboxes that were closed before they carried a valid message.",          \
      status->n_strangers_ended)                                                                   \
    X(tokens_per_s, RATE, "gauge", "baton_worker_tokens_per_second",                               \
      "While it works: prompt tokens computed (prefill), tokens made (decode); 0: not known.",     \
      status->tokens_per_s)                                                                        \
    X(step_base_s, REAL, NULL, NULL, NULL, step_cost(status, status->step_base_s))                 \
    X(step_row_s, REAL, NULL, NULL, NULL, step_cost(status, status->step_row_s))                   \
    X(step_max_rows, COUNT, NULL, NULL, NULL, status->step_max_rows)                               \
    X(prompt_tokens_per_s, RATE, "gauge", "baton_worker_prompt_tokens_per_second",                 \
      "Rate that predictions about prompts use; 0: not known.", gw_worker_prompt_rate(worker))     \
    X(predicted_wait_s, REAL, "gauge", "baton_worker_predicted_wait_seconds",                      \
      "How long a prompt routed there now would wait; NaN: not known.", gw_worker_wait_s(worker))  \
    X(prefix_hit_rate, REAL, NULL, NULL, NULL, prefix_hit_rate(status))                            \
    X(prefix_tokens, METRIC_ONLY, "counter", "baton_worker_prefix_tokens_total",                   \
      "Prompt tokens looked up in the worker's prefix cache.", status->prefix_tokens)              \
    X(prefix_hit_tokens, METRIC_ONLY, "counter", "baton_worker_prefix_hit_tokens_total",           \
      "Prompt tokens found in the worker's prefix cache.", status->prefix_hit_tokens)              \
    X(kv_disk_hit_tokens, METRIC_ONLY, "counter", "baton_worker_kv_disk_hit_tokens_total",         \
      "Prompt tokens found in the prefix cache and read from disk.", status->kv_disk_hit_tokens)   \
    X(kv_disk_read_bytes, METRIC_ONLY, "counter", "baton_worker_kv_disk_read_bytes_total",         \
      "Bytes of KV blocks read from disk.", status->kv_disk_read_bytes)                            \
    X(kv_disk_read_s, METRIC_ONLY, "counter", "baton_worker_kv_disk_read_seconds_total",           \
      "Time for reading KV blocks from disk.", status->kv_disk_read_s)                             \
    X(kv_disk_written_bytes, METRIC_ONLY, "counter", "baton_worker_kv_disk_written_bytes_total",   \
      "Bytes of KV blocks written to disk.", status->kv_disk_written_bytes)                        \
    X(kv_disk_write_s, METRIC_ONLY, "counter", "baton_worker_kv_disk_write_seconds_total",         \
      "Time for writing KV blocks to disk.", status->kv_disk_write_s)                              \
    X(kv_disk_evictions, METRIC_ONLY, "counter", "baton_worker_kv_disk_evictions_total",           \
      "KV blocks evicted from disk.", status->kv_disk_evictions)                                   \
    X(kv_disk_dropped, METRIC_ONLY, "counter", "baton_worker_kv_disk_dropped_blocks_total",        \
      "KV blocks not written for lack of time or space.", status->kv_disk_dropped)                 \
    X(kv_disk_errors, METRIC_ONLY, "counter", "baton_worker_kv_disk_errors_total",                 \
      "Reads and writes of KV blocks that failed, and blocks found damaged.",                      \
      status->kv_disk_errors)                                                                      \
    X(start_to_ready_s, METRIC_ONLY, "gauge", "baton_worker_start_to_ready_seconds",               \
      "Process start to model loaded.", worker->start_to_ready_s)                                  \
    X(model_load_s, METRIC_ONLY, "gauge", "baton_worker_model_load_seconds",                       \
      "Time to load the model.", worker->model_load_s)

#define X(key, kind, type, name, help, value)                                                      \
    static double read_##key(const struct gw_worker *worker)                                       \
    {                                                                                              \
        const Baton__V1__Status *status = &worker->status;                                         \
        (void)status;                                                                              \
        return (double)(value);                                                                    \
    }
FIGURES(X)
#undef X

static const struct figure {
    const char *key;
    enum kind kind;
    const char *type, *name, *help;
    double (*read)(const struct gw_worker *worker);
} figures[] = {
#define X(key, kind, type, name, help, value) {#key, kind, type, name, help, read_##key},
    FIGURES(X)
#undef X
};

enum { N_FIGURES = BATON_N_OF(figures) };

/* ---- JSON ---- */

static void put_figure(struct baton_json_out *out, const struct figure *figure, double value)
{
    if (figure->kind == COUNT)
        baton_json_put_uint(out, figure->key, (uint64_t)value);
    else if (figure->kind == REAL)
        baton_json_put_real(out, figure->key, value);
    else if (figure->kind == RATE)
        baton_json_put_real(out, figure->key, value > 0 ? value : NAN);
}

static void put_adapters(struct baton_json_out *out, const struct gw_adapters *adapters)
{
    baton_json_open(out, "adapters", '[');
    for (size_t i = 0; i < adapters->n; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_string(out, "name", adapters->list[i].name);
        baton_json_put_string(out, "sha256", adapters->list[i].digest);
        baton_json_put_uint(out, "rank", adapters->list[i].rank);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

/* The tokens of as many whole contexts as the states serve. */
static uint64_t tokens_of_states(const Baton__V1__Status *status, const struct gw_fleet *fleet)
{
    enum { STATES_OF_A_SEQUENCE = 2 };
    return (uint64_t)(status->kv_states_total / STATES_OF_A_SEQUENCE) *
           (uint64_t)fleet->options.identity.facts->n_context_tokens;
}

static void put_capacity(struct baton_json_out *out, const Baton__V1__Status *status,
                         const struct gw_fleet *fleet)
{
    uint64_t n = (uint64_t)status->kv_blocks_total * fleet->terms.kv_block_tokens;
    bool has_states = status->kv_states_total > 0;
    bool are_states = has_states && tokens_of_states(status, fleet) < n;
    baton_json_put_uint(out, "kv_tokens", are_states ? tokens_of_states(status, fleet) : n);
    baton_json_put_string_or_null(out, "kv_limit",
                                  !has_states  ? NULL
                                  : are_states ? "states"
                                               : "blocks");
}

static void put_worker(struct baton_json_out *out, const struct gw_worker *worker,
                       const struct gw_fleet *fleet, const char *served_model, bool for_operator)
{
    const struct gw_fleet_terms *terms = &fleet->terms;
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "id", worker->id);
    baton_json_put_string(out, "role", gw_worker_role_name(worker->role));
    baton_json_put_string(out, "state", gw_worker_state_name(worker->state));
    if (for_operator) {
        baton_json_put_uint(out, "pid", worker->pid);
        baton_json_put_string(out, "address", worker->address);
    }
    baton_json_put_string(out, "model", worker->model);
    baton_json_put_string(out, "served_model", served_model);
    baton_json_put_string(out, "fingerprint", worker->fingerprint.weights);
    baton_json_put_string(out, "dtype", terms->dtype);
    baton_json_put_string(out, "kv_dtype", terms->kv_dtype);
    baton_json_put_string(out, "kernels", worker->kernels);
    baton_json_put_string(out, "numa", worker->numa);
    baton_json_put_string(out, "draft_model", worker->draft_model);
    put_adapters(out, &worker->adapters);
    baton_json_put_string(out, "numeric_class", worker->numeric_class->name.hex);
    baton_json_put_uint(out, "kv_block_tokens", terms->kv_block_tokens);
    put_capacity(out, &worker->status, fleet);
    for (int i = 0; i < N_FIGURES; i++)
        put_figure(out, &figures[i], figures[i].read(worker));
    baton_json_close(out, '}');
}

void gw_worker_metrics_put(struct baton_json_out *out, const struct gw_fleet *fleet,
                           const char *served_model, bool for_operator)
{
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        put_worker(out, worker, fleet, served_model, for_operator);
}

/* ---- Prometheus ---- */

static void write_figure(struct baton_buf *out, const struct figure *figure,
                         const struct gw_fleet *fleet)
{
    baton_prom_family(out, figure->name, figure->type, figure->help);
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        baton_prom_sample(out, figure->name, figure->read(worker), "role",
                          gw_worker_role_name(worker->role), "worker", worker->id, NULL);
}

static void write_states(struct baton_buf *out, const struct gw_fleet *fleet, Baton__V1__Role role)
{
    for (int state = 0; state < GW_N_WORKER_STATES; state++)
        baton_prom_sample(out, "baton_workers",
                          (double)gw_fleet_n(fleet, role, (enum gw_worker_state)state), "role",
                          gw_worker_role_name(role), "state",
                          gw_worker_state_name((enum gw_worker_state)state), NULL);
}

/* A counter, because a worker is suspect for less than a second before it is lost, too short for a
 * scrape to see. */
static void write_suspected(struct baton_buf *out, const struct gw_fleet *fleet)
{
    baton_prom_family(out, "baton_workers_suspected_total", "counter",
                      "Times that a worker was silent for half the time after which it is lost.");
    for (int role = BATON__V1__ROLE__ROLE_PREFILL; role <= BATON__V1__ROLE__ROLE_DECODE; role++)
        baton_prom_sample(out, "baton_workers_suspected_total", (double)fleet->n_suspected[role],
                          "role", gw_worker_role_name((Baton__V1__Role)role), NULL);
}

void gw_worker_metrics_write(struct baton_buf *out, const struct gw_fleet *fleet)
{
    for (int i = 0; i < N_FIGURES; i++)
        if (figures[i].name)
            write_figure(out, &figures[i], fleet);
    baton_prom_family(out, "baton_workers", "gauge", "Workers by role and state.");
    write_states(out, fleet, BATON__V1__ROLE__ROLE_PREFILL);
    write_states(out, fleet, BATON__V1__ROLE__ROLE_DECODE);
    write_suspected(out, fleet);
    baton_prom_family(out, "baton_heartbeat_pause_seconds", "gauge",
                      "Pause between two heartbeats of a worker: longer in fleets of hundreds.");
    baton_prom_sample(
        out, "baton_heartbeat_pause_seconds",
        baton_seconds(gw_heartbeat_pause_ns(&fleet->options.heartbeat, fleet->workers.n)), NULL);
}
