#include "gateway/dispatch/dispatcher.h"

#include <math.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "gateway/admission/admission.h"
#include "gateway/request/commands.h"
#include "gateway/routing/routing.h"

/* After how long at most a worker hears that its tokens arrived. */
#define ACK_EVERY_NS (50 * BATON_MS)

static const struct gw_failure deadline_passed = {504, "deadline_exceeded",
                                                  "the request's time was up"};
static const struct gw_failure deadline_too_near = {
    504, "deadline_exceeded", "the request waited until it could not be finished in time any more"};

void gw_dispatcher_init(struct gw_dispatcher *dispatcher,
                        const struct gw_dispatcher_options *options)
{
    *dispatcher = (struct gw_dispatcher){.options = *options};
}

void gw_dispatcher_set_state(struct gw_dispatcher *dispatcher, struct gw_request *request,
                             enum gw_state state, const char *reason)
{
    int64_t now_ns = baton_now_ns();
    if (request->paused && request->state == GW_DECODING)
        gw_throughput_paused(&dispatcher->throughput, false, now_ns);
    gw_throughput_moved(&dispatcher->throughput, request->state, state, request->params.prompt.n,
                        now_ns);
    if (request->paused && state == GW_DECODING)
        gw_throughput_paused(&dispatcher->throughput, true, now_ns);
    if (request->state == GW_TOKENIZING && state == GW_QUEUED)
        gw_arrivals_arrived(&dispatcher->arrivals, now_ns);
    gw_request_set_state(dispatcher->options.requests, request, state, reason);
}

struct gw_request_list *gw_dispatcher_list(const struct gw_dispatcher *dispatcher,
                                           enum gw_state state)
{
    return &dispatcher->options.requests->by_state[state];
}

size_t gw_dispatcher_n_open(const struct gw_dispatcher *dispatcher)
{
    return gw_dispatcher_list(dispatcher, GW_QUEUED)->n +
           gw_dispatcher_list(dispatcher, GW_RESERVING)->n +
           gw_dispatcher_list(dispatcher, GW_PREFILLING)->n +
           gw_dispatcher_list(dispatcher, GW_DECODING)->n;
}

/* ---- ends ---- */

static void count_stages(struct gw_dispatcher *dispatcher, const struct gw_request *request)
{
    for (int i = 0; i < BATON_N_STAGES; i++) {
        struct gw_stage_span span;
        if (gw_request_stage(request, (enum baton_stage)i, &span))
            baton_hist_observe(&dispatcher->options.metrics->stages[i], span.duration_s);
    }
}

static void log_gateway_stages(const struct gw_request *request)
{
    static const enum baton_stage ours[] = {BATON_STAGE_parse, BATON_STAGE_tokenize,
                                            BATON_STAGE_queue, BATON_STAGE_detokenize,
                                            BATON_STAGE_flush};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        struct gw_stage_span span;
        if (gw_request_stage(request, ours[i], &span))
            baton_stage_log(ours[i], request->id, request->attempt.number, span.duration_s);
    }
}

static void log_summary(const struct gw_request *request, enum gw_outcome outcome,
                        const char *reason)
{
    log_gateway_stages(request);
    baton_log(outcome == GW_OUTCOME_ok ? BATON_LOG_INFO : BATON_LOG_WARN, "request",
              BATON_X("req", request->id), BATON_S("outcome", gw_outcome_name(outcome)),
              BATON_S("reason", reason), BATON_I("attempt", request->attempt.number),
              BATON_I("prompt_tokens", request->params.prompt.n),
              BATON_I("output_tokens", request->output.tokens.n),
              BATON_S("prefill", request->attempt.prefill_id),
              BATON_S("decode", request->attempt.decode_id),
              BATON_F("ttft_s", request->output.first_ns ? gw_request_ttft_s(request) : NAN),
              BATON_F("e2el_s", gw_request_e2el_s(request)));
}

void gw_dispatcher_count_ttft(struct gw_dispatcher *dispatcher, struct gw_request *request)
{
    if (!request->is_ttft_counted)
        baton_hist_observe(&dispatcher->options.metrics->ttft, gw_request_ttft_s(request));
    request->is_ttft_counted = true;
}

void gw_dispatcher_settle(struct gw_dispatcher *dispatcher, struct gw_request *request,
                          enum gw_outcome outcome, const char *reason)
{
    struct gw_metrics *metrics = dispatcher->options.metrics;
    request->times.end_ns = baton_now_ns();
    metrics->outcomes[outcome]++;
    if (request->output.first_ns)
        gw_dispatcher_count_ttft(dispatcher, request);
    if (outcome == GW_OUTCOME_ok) {
        metrics->n_prompt_tokens += request->params.prompt.n;
        metrics->n_cached_tokens += request->attempt.cached_tokens;
        baton_hist_observe(&metrics->e2el, gw_request_e2el_s(request));
        gw_metrics_note_latency(metrics, gw_request_ttft_s(request), request->output.longest_gap_s);
        gw_arrivals_finished(&dispatcher->arrivals, (double)request->output.tokens.n,
                             (double)(request->params.prompt.n + request->output.tokens.n),
                             request->times.end_ns);
        if (!request->was_paused)
            gw_throughput_finished(&dispatcher->throughput, request->output.tokens.n,
                                   gw_request_e2el_s(request) - gw_request_ttft_s(request));
        count_stages(dispatcher, request);
    }
    log_summary(request, outcome, reason);
}

void gw_dispatcher_finish(struct gw_dispatcher *dispatcher, struct gw_request *request)
{
    /* A stop string ends the request while its worker is still at it; others have nothing left. */
    gw_routing_release(request, "finished");
    gw_dispatcher_set_state(dispatcher, request, GW_DONE, gw_finish_name(request->output.finish));
    gw_dispatcher_settle(dispatcher, request, GW_OUTCOME_ok,
                         gw_finish_name(request->output.finish));
    request->writer->finish(request->choice);
    gw_request_destroy(dispatcher->options.requests, request);
    gw_routing_pump(dispatcher);
}

void gw_dispatcher_fail(struct gw_dispatcher *dispatcher, struct gw_request *request,
                        const struct gw_failure *failure)
{
    gw_routing_release(request, failure->code);
    gw_dispatcher_set_state(dispatcher, request, GW_FAILED, failure->message);
    gw_dispatcher_settle(dispatcher, request, GW_OUTCOME_failed, failure->message);
    request->writer->fail(request->choice, failure);
    gw_request_destroy(dispatcher->options.requests, request);
}

void gw_dispatcher_cancel(struct gw_dispatcher *dispatcher, struct gw_request *request,
                          const char *reason)
{
    gw_routing_release(request, reason);
    gw_dispatcher_set_state(dispatcher, request, GW_CANCELING, reason);
    gw_dispatcher_settle(dispatcher, request, GW_OUTCOME_canceled, reason);
    gw_request_destroy(dispatcher->options.requests, request);
    gw_routing_pump(dispatcher);
}

void gw_dispatcher_retry_or_fail(struct gw_dispatcher *dispatcher, struct gw_request *request,
                                 const struct gw_failure *failure)
{
    bool shown = request->params.streaming && request->output.tokens.n;
    if (shown || request->n_failures + 1 >= (uint64_t)dispatcher->options.max_attempts) {
        gw_dispatcher_fail(dispatcher, request, failure);
        return;
    }
    gw_routing_release(request, failure->message);
    uint64_t n_lost = request->output.tokens.n;
    gw_request_restart(request);
    request->n_failures++;
    dispatcher->options.metrics->n_retries++;
    baton_log(BATON_LOG_WARN, "retry", BATON_X("req", request->id),
              BATON_I("attempt", request->attempt.number), BATON_I("lost_tokens", n_lost),
              BATON_S("reason", failure->message));
    gw_dispatcher_set_state(dispatcher, request, GW_QUEUED, failure->message);
}

/* ---- acknowledgement ---- */

void gw_dispatcher_ack(struct gw_request *request, int64_t now_ns)
{
    request->attempt.acked_index = request->output.tokens.n;
    request->attempt.acked_ns = now_ns;
    gw_command_ack(request);
}

void gw_dispatcher_pause(struct gw_dispatcher *dispatcher, struct gw_request *request, bool paused)
{
    if (request->paused == paused)
        return;
    request->paused = paused;
    request->was_paused |= paused;
    dispatcher->options.metrics->n_pauses += paused;
    if (request->state != GW_DECODING)
        return;
    gw_throughput_paused(&dispatcher->throughput, paused, baton_now_ns());
    gw_dispatcher_ack(request, baton_now_ns());
}

/* ---- losses and time ---- */

static void lose_requests(struct gw_dispatcher *dispatcher, const struct gw_request_list *list,
                          struct gw_worker *worker)
{
    char message[160];
    (void)snprintf(message, sizeof message, "%s worker %s died while it worked on the request",
                   gw_worker_role_name(worker->role), worker->id);
    struct gw_failure failure = {502, "worker_failed", message};
    for (struct gw_request *request = gw_request_list_first(list); request;) {
        if (request->attempt.prefill != worker && request->attempt.decode != worker) {
            request = gw_request_list_next(list, request);
            continue;
        }
        gw_attempt_worker_lost(&request->attempt, worker);
        gw_dispatcher_retry_or_fail(dispatcher, request, &failure);
        request = gw_request_list_first(list); /* a failure may end others of the same completion */
    }
}

void gw_dispatcher_worker_lost(struct gw_dispatcher *dispatcher, struct gw_worker *worker)
{
    static const enum gw_state placed[] = {GW_RESERVING, GW_PREFILLING, GW_DECODING};
    for (size_t i = 0; i < sizeof placed / sizeof placed[0]; i++)
        lose_requests(dispatcher, gw_dispatcher_list(dispatcher, placed[i]), worker);
    gw_routing_forget(&dispatcher->routing, worker);
    gw_routing_pump(dispatcher);
}

/* Why a request must end now, or NULL. */
static const struct gw_failure *out_of_time(const struct gw_dispatcher *dispatcher,
                                            const struct gw_request *request, int64_t now_ns)
{
    if (request->deadline_ns && now_ns >= request->deadline_ns)
        return &deadline_passed;
    return gw_admission_will_miss_deadline(dispatcher, request, now_ns) ? &deadline_too_near : NULL;
}

static void tick_list(struct gw_dispatcher *dispatcher, enum gw_state state, int64_t now_ns)
{
    struct gw_request_list *list = gw_dispatcher_list(dispatcher, state);
    for (struct gw_request *request = gw_request_list_first(list); request;) {
        const struct gw_failure *failure = out_of_time(dispatcher, request, now_ns);
        if (failure) {
            gw_dispatcher_fail(dispatcher, request, failure);
            request = gw_request_list_first(list); /* others of the same completion ended with it */
            continue;
        }
        if (state == GW_DECODING && !request->paused &&
            request->attempt.acked_index != request->output.tokens.n &&
            now_ns - request->attempt.acked_ns >= ACK_EVERY_NS)
            gw_dispatcher_ack(request, now_ns);
        request = gw_request_list_next(list, request);
    }
}

/* A worker that had no room may have some again before its next Status says so. */
static void ask_again(const struct gw_dispatcher *dispatcher)
{
    const struct gw_fleet *fleet = dispatcher->options.fleet;
    bool somebody_waits = gw_dispatcher_list(dispatcher, GW_QUEUED)->n > 0;
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker)) {
        worker->backing_off = false;
        worker->recently_rejected &= somebody_waits;
    }
}

void gw_dispatcher_tick(struct gw_dispatcher *dispatcher, int64_t now_ns)
{
    const struct gw_request *first =
        gw_request_list_first(gw_dispatcher_list(dispatcher, GW_QUEUED));
    gw_throughput_tick(&dispatcher->throughput,
                       first ? baton_seconds(now_ns - first->queued_ns) : 0, now_ns);
    for (int state = GW_QUEUED; state <= GW_DECODING; state++)
        tick_list(dispatcher, (enum gw_state)state, now_ns);
    ask_again(dispatcher);
    gw_routing_pump(dispatcher);
}
