#include "gateway/lifecycle/lifecycle.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/envelope/envelope.h"
#include "gateway/http/account.h"
#include "gateway/lifecycle/hand_over.h"
#include "gateway/lifecycle/hedge.h"
#include "gateway/request/commands.h"
#include "gateway/request/stages.h"

static const struct gw_failure no_memory = {502, "worker_failed",
                                            "no memory to continue the request on another worker"};

void gw_lifecycle_init(struct gw_lifecycle *lifecycle, const struct gw_lifecycle_options *options,
                       const struct gw_core *core)
{
    *lifecycle = (struct gw_lifecycle){.core = core, .options = *options};
}

void gw_lifecycle_set_state(struct gw_lifecycle *lifecycle, struct gw_request *request,
                            enum gw_state state, const char *reason)
{
    int64_t now_ns = baton_now_ns();
    /* The estimator counts a paused request as not taking tokens, and expects every request that
     * leaves DECODING to take them: resume before the move, pause again after it. */
    if (request->paused && request->state == GW_DECODING)
        gw_throughput_paused(&lifecycle->throughput, false, now_ns);
    gw_throughput_moved(&lifecycle->throughput, request->state, state, gw_request_input(request)->n,
                        now_ns);
    if (request->paused && state == GW_DECODING)
        gw_throughput_paused(&lifecycle->throughput, true, now_ns);
    if (request->state == GW_TOKENIZING && state == GW_QUEUED) /* a retry is no new arrival */
        gw_arrivals_arrived(&lifecycle->arrivals, now_ns);
    gw_request_set_state(lifecycle->core->requests, request, state, reason);
    if (lifecycle->core->feed)
        gw_feed_request(lifecycle->core->feed, request, reason);
    if (state == GW_QUEUED)
        lifecycle->wants_pump = true;
}

struct gw_request_list *gw_lifecycle_list(const struct gw_lifecycle *lifecycle, enum gw_state state)
{
    return &lifecycle->core->requests->by_state[state];
}

size_t gw_lifecycle_n_open(const struct gw_lifecycle *lifecycle)
{
    return gw_lifecycle_list(lifecycle, GW_QUEUED)->n +
           gw_lifecycle_list(lifecycle, GW_RESERVING)->n +
           gw_lifecycle_list(lifecycle, GW_PREFILLING)->n +
           gw_lifecycle_list(lifecycle, GW_DECODING)->n +
           gw_lifecycle_list(lifecycle, GW_PREEMPTED)->n;
}

/* ---- ends ---- */

/* Stops the request's workers and frees the capacity that they held for it. */
static void release(struct gw_lifecycle *lifecycle, struct gw_request *request, const char *reason)
{
    gw_hand_over_drop(request, reason); /* first: it sends Cancel to the attempt's worker too */
    gw_command_cancel(request, reason);
    gw_attempt_release(&request->attempt);
    gw_hedge_drop(request, reason);
    lifecycle->wants_pump = true;
}

static void count_stages(struct gw_metrics *metrics, const struct gw_stages *stages)
{
    for (int i = 0; i < BATON_N_STAGES; i++)
        if (stages->spans[i].worker)
            baton_hist_observe(&metrics->stages[i], stages->spans[i].duration_s);
    metrics->stage_overlap_s += stages->overlap_s;
    metrics->preempted_s += stages->preempted_s;
}

/* Logs the end of a request and the durations of its stages in one line. */
static void log_summary(const struct gw_request *request, enum gw_outcome outcome,
                        const char *reason, const struct gw_stages *stages)
{
    const struct baton_log_field about[] = {
        BATON_REQUEST(request->id, request->tag),
        BATON_S("outcome", gw_outcome_name(outcome)),
        BATON_S("reason", reason),
        BATON_S("priority", baton_priority_name(request->params.priority)),
        BATON_I("attempt", request->attempt.number),
        BATON_I("migrations", request->migration.n),
        BATON_S("numeric_class", request->numeric_class.hex),
        BATON_I("class_changed", request->class_changed),
        BATON_I("prompt_tokens", request->params.prompt.n),
        BATON_I("cached_tokens", gw_request_first_attempt(request)->cached_tokens),
        BATON_I("disk_tokens", gw_request_first_attempt(request)->disk_tokens),
        BATON_I("output_tokens", request->output.tokens.n),
        BATON_S("prefill", request->attempt.prefill_id),
        BATON_S("decode", request->attempt.decode_id),
        BATON_I("prefill_parts", request->attempt.n_split),
        BATON_F("ttft_s", request->output.first_ns ? gw_request_ttft_s(request) : NAN),
        BATON_F("e2el_s", gw_request_e2el_s(request)),
    };
    enum { N_ABOUT = BATON_N_OF(about) };
    const struct gw_stage_span *spans = stages->spans;
    struct baton_log_field fields[N_ABOUT + BATON_N_STAGES + 3];
    size_t n = N_ABOUT;
    memcpy(fields, about, sizeof about);
    for (int i = 0; i < BATON_N_STAGES; i++)
        if (spans[i].worker)
            fields[n++] = BATON_F(baton_stage_key((enum baton_stage)i), spans[i].duration_s);
    fields[n++] = BATON_F("overlap_s", stages->overlap_s);
    fields[n++] = BATON_F("preempted_s", stages->preempted_s);
    fields[n] = (struct baton_log_field){.key = NULL};
    baton_log_fields(outcome == GW_OUTCOME_ok ? BATON_LOG_INFO : BATON_LOG_WARN, "request", fields);
}

void gw_lifecycle_count_ttft(struct gw_lifecycle *lifecycle, struct gw_request *request)
{
    struct gw_metrics *metrics = lifecycle->core->metrics;
    if (!request->is_ttft_counted) {
        baton_hist_observe(&metrics->ttft, gw_request_ttft_s(request));
        baton_hist_observe(&metrics->of[request->params.priority].ttft, gw_request_ttft_s(request));
    }
    request->is_ttft_counted = true;
}

/* A request that ends in the middle of a migration spent its time since the last token on it. */
static void note_end(struct gw_request *request, int64_t now_ns)
{
    request->times.end_ns = now_ns;
    gw_output_handled(&request->output, now_ns);
    if (request->migration.n && !request->attempt.first_token_ns && !request->attempt.decode_began)
        request->migration.gap_s += gw_request_migration_gap_s(request, now_ns);
}

/* Feeds the estimators with a complete output. */
static void note_output(struct gw_lifecycle *lifecycle, const struct gw_request *request)
{
    uint64_t n = request->output.tokens.n;
    gw_arrivals_finished(&lifecycle->arrivals, (double)n, (double)(request->params.prompt.n + n),
                         request->times.end_ns);
    if (!request->was_paused) /* a slow client's pauses are not the fleet's speed */
        gw_throughput_finished(&lifecycle->throughput, n,
                               gw_request_e2el_s(request) - gw_request_ttft_s(request));
}

static void settle(struct gw_lifecycle *lifecycle, struct gw_request *request,
                   enum gw_outcome outcome, const char *reason)
{
    struct gw_metrics *metrics = lifecycle->core->metrics;
    note_end(request, baton_now_ns());
    const struct gw_stages stages = gw_request_stages(request);
    metrics->outcomes[outcome]++;
    metrics->of[request->params.priority].outcomes[outcome]++;
    if (request->output.first_ns && !request->params.pooling)
        gw_lifecycle_count_ttft(lifecycle, request);
    if (outcome == GW_OUTCOME_ok) {
        metrics->n_prompt_tokens += request->params.prompt.n;
        metrics->n_cached_tokens += gw_request_first_attempt(request)->cached_tokens;
        metrics->n_disk_tokens += gw_request_first_attempt(request)->disk_tokens;
        baton_hist_observe(&metrics->e2el, gw_request_e2el_s(request));
        gw_metrics_note_latency(metrics, gw_request_ttft_s(request), request->output.longest_gap_s);
        if (!request->params.pooling)
            note_output(lifecycle, request);
        count_stages(metrics, &stages);
        baton_hist_observe(&metrics->of[request->params.priority].queue,
                           stages.spans[BATON_STAGE_queue].duration_s);
    }
    log_summary(request, outcome, reason, &stages);
    gw_spans_export_request(lifecycle->core->spans, request, gw_outcome_name(outcome), reason,
                            &stages);
}

void gw_lifecycle_finish(struct gw_lifecycle *lifecycle, struct gw_request *request)
{
    /* The workers that the attempt still has must stop: a stop string ends a request while its
     * worker decodes. */
    release(lifecycle, request, "finished");
    gw_lifecycle_set_state(lifecycle, request, GW_DONE, gw_finish_name(request->output.finish));
    settle(lifecycle, request, GW_OUTCOME_ok, gw_finish_name(request->output.finish));
    request->writer->finish(request->choice);
    gw_request_destroy(lifecycle->core->requests, request);
}

void gw_lifecycle_fail(struct gw_lifecycle *lifecycle, struct gw_request *request,
                       const struct gw_failure *failure)
{
    release(lifecycle, request, failure->code);
    gw_lifecycle_set_state(lifecycle, request, GW_FAILED, failure->message);
    settle(lifecycle, request, GW_OUTCOME_failed, failure->message);
    request->writer->fail(request->choice, failure);
    gw_request_destroy(lifecycle->core->requests, request);
}

void gw_lifecycle_cancel(struct gw_lifecycle *lifecycle, struct gw_request *request,
                         const char *reason)
{
    release(lifecycle, request, reason);
    gw_lifecycle_set_state(lifecycle, request, GW_CANCELING, reason);
    settle(lifecycle, request, GW_OUTCOME_canceled, reason);
    gw_request_destroy(lifecycle->core->requests, request);
}

static void finish_complete(struct gw_lifecycle *lifecycle, struct gw_request *request,
                            bool stopped)
{
    gw_request_end_output(request, &lifecycle->core->detokenizer, stopped);
    gw_lifecycle_finish(lifecycle, request);
}

/* The client gets the last failure and the limit that ends the request. */
static void fail_at_limit(struct gw_lifecycle *lifecycle, struct gw_request *request,
                          const struct gw_failure *failure, const char *limit)
{
    char message[BATON_MAX_TEXT_BYTES + 256];
    (void)snprintf(message, sizeof message, "%s; %s", failure->message, limit);
    gw_lifecycle_fail(lifecycle, request,
                      &(struct gw_failure){failure->status, failure->code, message});
}

static void migrate_or_fail(struct gw_lifecycle *lifecycle, struct gw_request *request,
                            const struct gw_failure *failure)
{
    int64_t limit = lifecycle->options.migration_limit;
    bool stopped;
    /* All tokens are here, and only Finished was lost: there is nothing to compute again. */
    if (gw_request_is_complete(request, &stopped)) {
        finish_complete(lifecycle, request, stopped);
        return;
    }
    if (!gw_request_may_migrate(request, limit)) {
        char limit_text[64];
        (void)snprintf(limit_text, sizeof limit_text,
                       "it had migrated --migration-limit %" PRId64 " times", limit);
        fail_at_limit(lifecycle, request, failure, limit_text);
        return;
    }
    release(lifecycle, request, failure->message);
    if (gw_request_migrate(request, failure->message)) {
        gw_lifecycle_fail(lifecycle, request, &no_memory);
        return;
    }
    lifecycle->core->metrics->n_migrations++;
    baton_log(BATON_LOG_WARN, "migration", BATON_REQUEST(request->id, request->tag),
              BATON_I("attempt", request->attempt.number),
              BATON_I("output_tokens", request->output.tokens.n),
              BATON_S("reason", failure->message));
    gw_lifecycle_set_state(lifecycle, request, GW_QUEUED, failure->message);
}

void gw_lifecycle_retry_or_fail(struct gw_lifecycle *lifecycle, struct gw_request *request,
                                const struct gw_failure *failure)
{
    if (request->doubted) {
        gw_hedge_revert(lifecycle, request);
        return;
    }
    if (request->output.tokens.n && lifecycle->options.migration_limit) {
        migrate_or_fail(lifecycle, request, failure);
        return;
    }
    /* A streaming client has seen the tokens, and without migration another attempt may differ. */
    if (request->params.streaming && request->output.tokens.n) {
        gw_lifecycle_fail(lifecycle, request, failure);
        return;
    }
    if (request->n_failures + 1 >= (uint64_t)lifecycle->options.max_attempts) {
        char limit_text[64];
        (void)snprintf(limit_text, sizeof limit_text, "it was the last of --max-attempts %" PRId64,
                       lifecycle->options.max_attempts);
        fail_at_limit(lifecycle, request, failure, limit_text);
        return;
    }
    release(lifecycle, request, failure->message);
    uint64_t n_lost = request->output.tokens.n; /* before restart drops the tokens */
    gw_request_restart(request);
    request->n_failures++;
    free(request->broke);
    request->broke = strdup(failure->message);
    lifecycle->core->metrics->n_retries++;
    baton_log(BATON_LOG_WARN, "retry", BATON_REQUEST(request->id, request->tag),
              BATON_I("attempt", request->attempt.number), BATON_I("lost_tokens", n_lost),
              BATON_S("reason", failure->message));
    gw_lifecycle_set_state(lifecycle, request, GW_QUEUED, failure->message);
}

/* ---- preemption ---- */

/* Preempted requests of one client. They hold no capacity but memory of this process. */
enum { MAX_PREEMPTED_EACH = 64 };

bool gw_lifecycle_may_preempt(const struct gw_lifecycle *lifecycle,
                              const struct gw_request *request)
{
    bool stopped;
    return lifecycle->options.migration_limit && request->paused && !request->doubted &&
           (request->state == GW_QUEUED ||
            (request->state == GW_DECODING && request->attempt.decode &&
             !gw_request_is_complete(request, &stopped)));
}

static bool is_of(const struct gw_request *request, const struct gw_payers *payers)
{
    return request->payers && gw_payers_are_same(request->payers, payers);
}

/* Fails the request that was preempted first if the client has too many of them. */
static void bound_preempted(struct gw_lifecycle *lifecycle, const struct gw_payers *payers)
{
    static const struct gw_failure too_many = {429, "too_many_unread",
                                               "its client left more streams unread than it may"};
    struct gw_request_list *list = gw_lifecycle_list(lifecycle, GW_PREEMPTED);
    struct gw_request *first = NULL;
    size_t n = 0;
    for (struct gw_request *request = gw_request_list_first(list); request && payers;
         request = gw_request_list_next(list, request)) {
        if (!is_of(request, payers))
            continue;
        first = first ? first : request;
        n++;
    }
    if (n > MAX_PREEMPTED_EACH)
        gw_lifecycle_fail(lifecycle, first, &too_many);
}

/* Begins the attempt that continues the request later. False: there is no memory for it. */
static bool leave_worker(struct gw_lifecycle *lifecycle, struct gw_request *request,
                         const char *reason)
{
    release(lifecycle, request, reason);
    if (gw_request_migrate(request, reason)) {
        gw_lifecycle_fail(lifecycle, request, &no_memory);
        return false;
    }
    request->migration.n_uncounted++;
    lifecycle->core->metrics->n_migrations++;
    return true;
}

void gw_lifecycle_preempt(struct gw_lifecycle *lifecycle, struct gw_request *request)
{
    static const char reason[] = "others waited for KV blocks while its client read nothing";
    if (request->state == GW_DECODING && !leave_worker(lifecycle, request, reason))
        return;
    request->migration.awaited_ns = INT64_MAX;
    lifecycle->core->metrics->n_preemptions++;
    baton_log(BATON_LOG_INFO, "preempted", BATON_REQUEST(request->id, request->tag),
              BATON_I("attempt", request->attempt.number),
              BATON_I("output_tokens", request->output.tokens.n),
              BATON_F("paused_s", baton_seconds(baton_now_ns() - request->paused_ns)));
    gw_lifecycle_set_state(lifecycle, request, GW_PREEMPTED, reason);
    bound_preempted(lifecycle, request->payers);
}

/* ---- acknowledgement ---- */

void gw_lifecycle_ack(struct gw_request *request, int64_t now_ns)
{
    request->attempt.acked_index = request->output.tokens.n;
    request->attempt.acked_ns = now_ns;
    gw_command_ack(request);
}

void gw_lifecycle_pause(struct gw_lifecycle *lifecycle, struct gw_request *request, bool paused)
{
    if (request->paused == paused)
        return;
    request->paused = paused;
    request->was_paused |= paused;
    lifecycle->core->metrics->n_pauses += paused;
    if (paused)
        request->paused_ns = baton_now_ns();
    if (request->state == GW_PREEMPTED) {
        request->migration.awaited_ns = baton_now_ns();
        gw_lifecycle_set_state(lifecycle, request, GW_QUEUED, "its client reads again");
        return;
    }
    if (request->state != GW_DECODING) /* set_state counts the pause when DECODING begins */
        return;
    gw_throughput_paused(&lifecycle->throughput, paused, baton_now_ns());
    gw_lifecycle_ack(request, baton_now_ns()); /* with a credit of 0 when paused */
}

/* ---- losses ---- */

enum loss { DIED, LEFT, STALLED, UNHEALTHY };

/* Whether the worker no longer receives messages, so that no Cancel is sent to it. */
static bool is_gone(enum loss loss)
{
    return loss == DIED || loss == LEFT;
}

static void lose_requests(struct gw_lifecycle *lifecycle, const struct gw_request_list *list,
                          const struct gw_worker *worker, enum loss loss)
{
    static const char *const words[] = {[DIED] = "died",
                                        [LEFT] = "left after its drain time",
                                        [STALLED] = "stalled",
                                        [UNHEALTHY] = "failed its canary"};
    char message[160];
    (void)snprintf(message, sizeof message, "%s worker %s %s while it worked on the request",
                   gw_worker_role_name(worker->role), worker->id, words[loss]);
    struct gw_failure failure = {502, "worker_failed", message};
    for (struct gw_request *request = gw_request_list_first(list); request;) {
        if (!gw_attempt_uses(&request->attempt, worker)) {
            request = gw_request_list_next(list, request);
            continue;
        }
        if (is_gone(loss))
            gw_attempt_worker_lost(&request->attempt, worker); /* first, so no Cancel is sent */
        /* The operator caused the first kind. In RESERVING, the attempt was sent to a worker whose
         * death was not detected yet, and the same death has counted before. */
        request->migration.n_uncounted +=
            request->output.tokens.n && (loss == LEFT || request->state == GW_RESERVING);
        gw_lifecycle_retry_or_fail(lifecycle, request, &failure);
        /* From the start, because a failure may end others of the same completion. */
        request = gw_request_list_first(list);
    }
}

static void lose_all(struct gw_lifecycle *lifecycle, const struct gw_worker *worker, enum loss loss)
{
    static const enum gw_state with_workers[] = {GW_RESERVING, GW_PREFILLING, GW_DECODING};
    gw_hedge_worker_lost(lifecycle, worker, is_gone(loss));
    gw_hand_over_worker_lost(lifecycle, worker, is_gone(loss));
    for (size_t i = 0; i < BATON_N_OF(with_workers); i++)
        lose_requests(lifecycle, gw_lifecycle_list(lifecycle, with_workers[i]), worker, loss);
}

void gw_lifecycle_worker_lost(struct gw_lifecycle *lifecycle, const struct gw_worker *worker)
{
    lose_all(lifecycle, worker, worker->state == GW_WORKER_DRAINING ? LEFT : DIED);
}

void gw_lifecycle_worker_unfit(struct gw_lifecycle *lifecycle, const struct gw_worker *worker)
{
    lose_all(lifecycle, worker, worker->state == GW_WORKER_UNHEALTHY ? UNHEALTHY : STALLED);
}
