/* The gateway's metrics: stages, latencies, outcomes; written as Prometheus text.
 *
 * Ownership: plain data in the gateway.
 * Threading: loop thread.
 * Errors:    stick in the output buffer.
 */
#ifndef BATON_GATEWAY_OBSERVE_METRICS_H
#define BATON_GATEWAY_OBSERVE_METRICS_H

#include "common/base/buf.h"
#include "common/obs/hist.h"
#include "common/obs/stage.h"
#include "common/params/speculation.h"
#include "common/policy/priority.h"
#include "common/wire/transport/inbox.h"
#include "gateway/fleet/fleet.h"
#include "gateway/http/server.h"
#include "gateway/observe/handoff_stats.h"
#include "gateway/observe/throughput.h"

#define GW_OUTCOMES(X)                                                                             \
    X(ok, "answered in full")                                                                      \
    X(failed, "ended by a failure of ours")                                                        \
    X(canceled, "the client left")                                                                 \
    X(rejected, "refused before any work")

/* Why a request was rejected. The outcome `rejected` also counts malformed requests. */
#define GW_REJECTIONS(X)                                                                           \
    X(queue_full) X(too_late) X(per_key) X(token_rate) X(too_large) X(no_worker) X(draining)

enum gw_rejection {
#define X(name) GW_REJECTION_##name,
    GW_REJECTIONS(X)
#undef X
        GW_N_REJECTIONS
};

enum gw_outcome {
#define X(name, text) GW_OUTCOME_##name,
    GW_OUTCOMES(X)
#undef X
        GW_N_OUTCOMES
};

/* The bounds of a good request; 0: no bound. itl bounds every gap. */
struct gw_slo {
    double ttft_s, itl_s;
};

/* The metrics of one class (common/policy/priority.h). */
struct gw_priority_metrics {
    uint64_t outcomes[GW_N_OUTCOMES];
    struct baton_hist queue, ttft;
};

struct gw_metrics {
    struct gw_slo slo;
    struct baton_hist stages[BATON_N_STAGES];
    double stage_overlap_s, preempted_s; /* as gw_stages, sums */
    struct gw_handoff_stats handoff_stats;
    struct baton_hist ttft, itl, e2el, cold_first_token, migration_gap;
    uint64_t outcomes[GW_N_OUTCOMES];
    struct gw_priority_metrics of[BATON_N_PRIORITIES];
    uint64_t rejections[GW_N_REJECTIONS]; /* of completions */
    uint64_t n_good;                      /* requests that ended ok within the SLO */
    uint64_t n_prompt_tokens, n_cached_tokens, n_output_tokens, n_retries, n_migrations, n_pauses;
    uint64_t n_embeddings;
    uint64_t n_disk_tokens;   /* cached tokens that were read from disk */
    uint64_t n_hand_overs;    /* migrations that moved the context */
    uint64_t n_preemptions;   /* paused requests that gave way to others */
    uint64_t n_class_changes; /* tokens from another class than the token before */
    /* Tokens that speculation guessed, by mode; and those of them that were accepted. */
    uint64_t n_drafted[BATON_N_SPECULATION_MODES], n_accepted[BATON_N_SPECULATION_MODES];
    uint64_t n_batch_full, n_no_blocks; /* reservations that a decode worker rejected */
};

const char *gw_outcome_name(enum gw_outcome outcome);
const char *gw_rejection_name(enum gw_rejection rejection);

/* Counts a completely answered request as good if its time to the first token and its longest gap
 * are within the SLO. */
void gw_metrics_note_latency(struct gw_metrics *metrics, double ttft_s, double longest_gap_s);

void gw_metrics_write(const struct gw_metrics *metrics, struct baton_buf *out);

/* Write the metrics of the queue, of the HTTP server and of the inbox. */
void gw_metrics_write_queue(const struct gw_throughput *throughput,
                            const struct gw_requests *requests, struct baton_buf *out);
void gw_metrics_write_http(const struct gw_http_server *server, struct baton_buf *out);
void gw_metrics_write_inbox(const struct baton_inbox *inbox, struct baton_buf *out);

/* Writes the counts of Hellos that did not lead to a worker. */
void gw_metrics_write_hellos(const struct gw_hello_stats *hellos, struct baton_buf *out);

#endif
