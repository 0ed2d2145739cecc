#include "gateway/observe/metrics.h"

#include <stdbool.h>

#include "common/obs/prom.h"

static const char *const outcome_names[] = {
#define X(name, text) #name,
    GW_OUTCOMES(X)
#undef X
};

static const char *const rejection_names[] = {
#define X(name) #name,
    GW_REJECTIONS(X)
#undef X
};

const char *gw_outcome_name(enum gw_outcome outcome)
{
    return outcome_names[outcome];
}

const char *gw_rejection_name(enum gw_rejection rejection)
{
    return rejection_names[rejection];
}

/* A bound of 0 means no bound. */
static bool is_within(double seconds, double bound_s)
{
    return !(bound_s > 0) || seconds <= bound_s;
}

void gw_metrics_note_latency(struct gw_metrics *metrics, double ttft_s, double longest_gap_s)
{
    metrics->n_good +=
        is_within(ttft_s, metrics->slo.ttft_s) && is_within(longest_gap_s, metrics->slo.itl_s);
}

static void write_latency(struct baton_buf *out, const char *name, const char *help,
                          const struct baton_hist *hist)
{
    baton_prom_family(out, name, "histogram", help);
    baton_prom_hist(out, name, hist, NULL, NULL);
}

static void write_seconds(struct baton_buf *out, const char *name, const char *help, double value)
{
    baton_prom_family(out, name, "counter", help);
    baton_prom_sample(out, name, value, NULL);
}

static void write_counter(struct baton_buf *out, const char *name, const char *help, uint64_t value)
{
    write_seconds(out, name, help, (double)value);
}

static void write_by_mode(struct baton_buf *out, const char *name, const char *help,
                          const uint64_t counts[BATON_N_SPECULATION_MODES])
{
    baton_prom_family(out, name, "counter", help);
    for (int i = BATON_SPECULATION_NONE + 1; i < BATON_N_SPECULATION_MODES; i++)
        baton_prom_sample(out, name, (double)counts[i], "mode",
                          baton_speculation_mode_name((enum baton_speculation_mode)i), NULL);
}

static void write_by_priority(const struct gw_metrics *metrics, struct baton_buf *out)
{
    baton_prom_family(out, "baton_priority_requests_total", "counter",
                      "Requests by their class and how they ended.");
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        for (int outcome = 0; outcome < GW_N_OUTCOMES; outcome++)
            baton_prom_sample(out, "baton_priority_requests_total",
                              (double)metrics->of[i].outcomes[outcome], "priority",
                              baton_priority_name((enum baton_priority)i), "outcome",
                              outcome_names[outcome], NULL);
    baton_prom_family(out, "baton_priority_queue_seconds", "histogram",
                      "Wait of a request for its workers, by its class.");
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        baton_prom_hist(out, "baton_priority_queue_seconds", &metrics->of[i].queue, "priority",
                        baton_priority_name((enum baton_priority)i));
    baton_prom_family(out, "baton_priority_time_to_first_token_seconds", "histogram",
                      "Last byte of the request read to first token at the gateway, by class.");
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        baton_prom_hist(out, "baton_priority_time_to_first_token_seconds", &metrics->of[i].ttft,
                        "priority", baton_priority_name((enum baton_priority)i));
}

static void write_slo(struct baton_buf *out, const struct gw_metrics *metrics)
{
    write_counter(out, "baton_requests_good_total",
                  "Requests answered in full, with the first token and every gap within the SLO.",
                  metrics->n_good);
    baton_prom_family(out, "baton_slo_seconds", "gauge",
                      "SLO: time to the first token, gap between two tokens; 0: none.");
    baton_prom_sample(out, "baton_slo_seconds", metrics->slo.ttft_s, "of", "ttft", NULL);
    baton_prom_sample(out, "baton_slo_seconds", metrics->slo.itl_s, "of", "itl", NULL);
}

void gw_metrics_write(const struct gw_metrics *metrics, struct baton_buf *out)
{
    baton_prom_family(out, "baton_stage_duration_seconds", "histogram",
                      "Time of one request in one stage.");
    for (int i = 0; i < BATON_N_STAGES; i++)
        baton_prom_hist(out, "baton_stage_duration_seconds", &metrics->stages[i], "stage",
                        baton_stage_name((enum baton_stage)i));
    write_seconds(out, "baton_stage_overlap_seconds_total",
                  "Time that two stages of one request count.", metrics->stage_overlap_s);
    write_seconds(out, "baton_gateway_preempted_seconds_total",
                  "Time in detokenize, format and flush in which the gateway had no core.",
                  metrics->preempted_s);
    write_latency(out, "baton_time_to_first_token_seconds",
                  "Last byte of the request read to first token at the gateway.", &metrics->ttft);
    write_latency(out, "baton_inter_token_latency_seconds",
                  "Gap between two tokens of one request at the gateway.", &metrics->itl);
    write_latency(out, "baton_request_duration_seconds",
                  "Last byte of the request read to last token at the gateway.", &metrics->e2el);
    write_latency(out, "baton_cold_first_token_seconds",
                  "Start of a worker process to its first token.", &metrics->cold_first_token);
    baton_prom_family(out, "baton_requests_total", "counter", "Requests by how they ended.");
    for (int i = 0; i < GW_N_OUTCOMES; i++)
        baton_prom_sample(out, "baton_requests_total", (double)metrics->outcomes[i], "outcome",
                          outcome_names[i], NULL);
    write_by_priority(metrics, out);
    write_slo(out, metrics);
    baton_prom_family(out, "baton_requests_rejected_total", "counter",
                      "Requests rejected before any work, by reason.");
    for (int i = 0; i < GW_N_REJECTIONS; i++)
        baton_prom_sample(out, "baton_requests_rejected_total", (double)metrics->rejections[i],
                          "reason", rejection_names[i], NULL);
    write_counter(out, "baton_prompt_tokens_total", "Prompt tokens of answered requests.",
                  metrics->n_prompt_tokens);
    write_counter(out, "baton_cached_prompt_tokens_total",
                  "Prompt tokens of answered requests that a prefix cache had.",
                  metrics->n_cached_tokens);
    write_counter(out, "baton_disk_prompt_tokens_total",
                  "Cached prompt tokens that were read from disk.", metrics->n_disk_tokens);
    write_counter(out, "baton_output_tokens_total", "Tokens generated.", metrics->n_output_tokens);
    write_counter(out, "baton_embeddings_total", "Embeddings computed from prompts.",
                  metrics->n_embeddings);
    write_by_mode(out, "baton_drafted_tokens_total",
                  "Draft tokens that speculation guessed, by mode.", metrics->n_drafted);
    write_by_mode(out, "baton_accepted_tokens_total", "Draft tokens that were accepted, by mode.",
                  metrics->n_accepted);
    write_counter(out, "baton_retries_total",
                  "New attempts because an attempt broke before its first token.",
                  metrics->n_retries);
    write_counter(out, "baton_migrations_total",
                  "Continuations of requests on another worker after the first token.",
                  metrics->n_migrations);
    write_counter(out, "baton_hand_overs_total",
                  "Migrations with the KV cache, from a decode worker that drains.",
                  metrics->n_hand_overs);
    write_counter(out, "baton_preemptions_total",
                  "Paused requests that gave way to others that waited for KV blocks.",
                  metrics->n_preemptions);
    write_counter(out, "baton_class_changes_total",
                  "Continuations of requests on a worker of another numeric class.",
                  metrics->n_class_changes);
    write_latency(out, "baton_migration_gap_seconds",
                  "Last token before a migration to the first token after it, at the gateway.",
                  &metrics->migration_gap);
    write_counter(out, "baton_stream_pauses_total",
                  "Times that a stream was paused because its client read too slowly.",
                  metrics->n_pauses);
    baton_prom_family(
        out, "baton_reservations_rejected_total", "counter",
        "Reservations that a decode worker rejected, by the resource that it lacked.");
    baton_prom_sample(out, "baton_reservations_rejected_total", (double)metrics->n_batch_full,
                      "reason", "batch_full", NULL);
    baton_prom_sample(out, "baton_reservations_rejected_total", (double)metrics->n_no_blocks,
                      "reason", "no_blocks", NULL);
    gw_handoff_stats_write(&metrics->handoff_stats, out);
}

static void write_gauge(struct baton_buf *out, const char *name, const char *help, double value)
{
    baton_prom_family(out, name, "gauge", help);
    baton_prom_sample(out, name, value, NULL);
}

void gw_metrics_write_queue(const struct gw_throughput *throughput,
                            const struct gw_requests *requests, struct baton_buf *out)
{
    baton_prom_family(out, "baton_priority_queue_requests", "gauge",
                      "Requests that wait for a worker, by their class.");
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        baton_prom_sample(out, "baton_priority_queue_requests", (double)requests->queued[i].n,
                          "priority", baton_priority_name((enum baton_priority)i), NULL);
    write_gauge(out, "baton_queue_requests", "Requests that wait for a worker.",
                (double)throughput->n_waiting);
    write_gauge(out, "baton_queue_prompt_tokens", "Tokens of their prompts.",
                (double)throughput->n_waiting_tokens);
    write_gauge(out, "baton_queue_wait_seconds",
                "Predicted wait for the first token of a request that arrives now.",
                gw_throughput_wait_s(throughput, 0, 0));
}

void gw_metrics_write_hellos(const struct gw_hello_stats *hellos, struct baton_buf *out)
{
    baton_prom_family(out, "baton_hellos_refused_total", "counter",
                      "Hellos without a new worker: the cluster token was wrong, the worker does "
                      "not fit, or no answer was sent.");
    baton_prom_sample(out, "baton_hellos_refused_total", (double)hellos->n_strangers, "reason",
                      "token", NULL);
    baton_prom_sample(out, "baton_hellos_refused_total", (double)hellos->n_refused, "reason",
                      "other_terms", NULL);
    baton_prom_sample(out, "baton_hellos_refused_total", (double)hellos->n_dropped, "reason",
                      "dropped", NULL);
}

void gw_metrics_write_inbox(const struct baton_inbox *inbox, struct baton_buf *out)
{
    struct baton_inbox_stats stats;
    baton_inbox_get_stats(inbox, &stats);
    write_counter(out, "baton_inbox_messages_total", "Messages from workers.", stats.n_received);
    write_counter(out, "baton_inbox_bytes_total", "Bytes of those messages.", stats.n_bytes);
    write_counter(out, "baton_inbox_rejected_total",
                  "Messages that were invalid or of no link: their pipe was closed.",
                  stats.n_rejected);
    baton_prom_family(out, "baton_inbox_strangers_ended_total", "counter",
                      "Connections to the inbox that were closed before they carried a worker's "
                      "message, by reason.");
    baton_prom_sample(out, "baton_inbox_strangers_ended_total", (double)stats.strangers.n_crowded,
                      "reason", "crowded", NULL);
    baton_prom_sample(out, "baton_inbox_strangers_ended_total", (double)stats.strangers.n_silent,
                      "reason", "silent", NULL);
    baton_prom_sample(out, "baton_inbox_strangers_ended_total", (double)stats.strangers.n_greedy,
                      "reason", "greedy", NULL);
}

static void write_limited(const struct gw_http_stats *stats, struct baton_buf *out)
{
    baton_prom_family(out, "baton_http_limited_total", "counter",
                      "Requests and connections rejected by a limit per key or per address.");
    baton_prom_sample(out, "baton_http_limited_total", (double)stats->n_connections_limited, "of",
                      "address", "limit", "connections", NULL);
    for (int of = 0; of < GW_N_LIMITED; of++)
        for (int limit = 0; limit < GW_N_LIMITS; limit++)
            baton_prom_sample(out, "baton_http_limited_total", (double)stats->n_limited[of][limit],
                              "of", gw_limited_name((enum gw_limited)of), "limit",
                              gw_limit_name((enum gw_limit)limit), NULL);
}

void gw_metrics_write_http(const struct gw_http_server *server, struct baton_buf *out)
{
    const struct gw_http_stats *stats = gw_http_stats(server);
    write_gauge(out, "baton_http_connections", "Open client connections.",
                (double)gw_http_n_connections(server));
    write_counter(out, "baton_http_requests_total", "Client requests that were read completely.",
                  stats->n_requests);
    write_counter(out, "baton_http_slices_over_total",
                  "Times that a client's next request had to wait for its turn.",
                  stats->n_slices_over);
    write_counter(out, "baton_http_read_pauses_total",
                  "Times that reading stopped because a client sent requests too far ahead.",
                  stats->n_read_pauses);
    write_counter(out, "baton_http_handshakes_total", "TLS handshakes that succeeded.",
                  stats->n_handshakes);
    write_counter(out, "baton_http_handshakes_failed_total",
                  "TLS handshakes that failed: garbage, an old version, an alert.",
                  stats->n_handshakes_failed);
    write_counter(out, "baton_http_gave_way_total",
                  "Connections without a whole request, and TLS handshakes, closed for others.",
                  stats->n_gave_way);
    write_counter(out, "baton_http_bodies_dropped_total",
                  "Unfinished bodies dropped because too many of them arrived.",
                  stats->n_bodies_dropped);
    write_limited(stats, out);
}
